// The control plane over prefixes of a store in memory.
#include "sync/informer/source_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/delta/control_plane.h"
#include "tests/sync/fake_delta.h"
#include "tests/sync/fake_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class SyncSourceTypes : public testing::Test {
 protected:
  void Start() {
    types = std::make_unique<SourceTypes>(
        store, executor,
        SourceTypesOptions{
            .prefixes = {{"dp", "/dp/"}, {"mesh", "/mesh/"}},
            .on_changed = [this](const std::string& type) { changed.push_back(type); },
            .on_error = [this](const Error& error) { errors.push_back(error.message); },
            .seed = 1});
    types->Start();
    executor.Advance(1s);
  }
  // The type's content as text, or why it cannot be read.
  std::map<std::string, std::string> Read(const std::string& type) {
    std::map<std::string, std::string> texts;
    types->Read(type, [&](Result<Objects> objects) {
      if (!objects) {
        texts["error"] = objects.error().message;
        return;
      }
      last = *objects;
      for (const auto& [name, bytes] : *objects) texts[name] = *bytes;
    });
    return texts;
  }
  ManualExecutor executor;
  FakeStore store;
  std::unique_ptr<SourceTypes> types;
  std::vector<std::string> changed;
  std::vector<std::string> errors;
  Objects last;
};

TEST_F(SyncSourceTypes, ATypeIsTheKeysBehindItsPrefix) {
  store.Put("/dp/a/b", "1");
  store.Put("/mesh/m", "1");
  Start();
  EXPECT_THAT(changed, testing::UnorderedElementsAre("dp", "mesh"));
  EXPECT_THAT(Read("dp"), ElementsAre(Pair("a/b", "1")));
  changed.clear();
  store.Commit({{"/dp/a/b", "2"}, {"/dp/c", "1"}});
  executor.Settle();
  EXPECT_THAT(changed, ElementsAre("dp")) << "one revision";
  EXPECT_THAT(Read("dp"), ElementsAre(Pair("a/b", "2"), Pair("c", "1")));
  store.Delete("/dp/c");
  executor.Settle();
  EXPECT_THAT(Read("dp"), ElementsAre(Pair("a/b", "2")));
  EXPECT_THAT(Read("mesh"), ElementsAre(Pair("m", "1")));
}

TEST_F(SyncSourceTypes, AReadAsksNoServer) {
  store.Put("/dp/a", "1");
  Start();
  const int ranges = store.ranges();
  for (int i = 0; i < 10; ++i) Read("dp");
  EXPECT_EQ(store.ranges(), ranges);
}

TEST_F(SyncSourceTypes, AfterACompactionWhatDidNotChangeIsTheSameObject) {
  store.Put("/dp/a", "1");
  store.Put("/dp/b", "1");
  Start();
  Read("dp");
  const Bytes before = last.at("a");
  store.Disconnect();
  store.Delete("/dp/b");
  store.Compact(store.Put("/dp/c", "1"));
  store.Connect();
  executor.Advance(60s);
  EXPECT_THAT(Read("dp"), ElementsAre(Pair("a", "1"), Pair("c", "1")));
  EXPECT_EQ(last.at("a"), before);
}

TEST_F(SyncSourceTypes, ATypeThatCannotBeListedSaysWhyUntilItIs) {
  store.Put("/dp/a", "1");
  store.HoldRanges();
  Start();
  EXPECT_EQ(Read("dp")["error"], "not listed yet");
  store.LetGo();
  executor.Settle();
  EXPECT_THAT(Read("dp"), ElementsAre(Pair("a", "1")));
  types.reset();
  store.FailRanges({Code::kPermissionDenied, "permission denied"}, 2);
  Start();
  executor.Advance(60s);
  EXPECT_THAT(errors, testing::Contains(HasSubstr("permission denied")));
  EXPECT_THAT(Read("dp"), ElementsAre(Pair("a", "1")));
}

TEST_F(SyncSourceTypes, APlaneOverItSendsWhatTheStoreHolds) {
  store.Put("/dp/a", "1");
  Metrics metrics;
  Bus<std::string> changes;
  types = std::make_unique<SourceTypes>(
      store, executor,
      SourceTypesOptions{.prefixes = {{"dp", "/dp/"}},
                         .on_changed = [&](const std::string& type) { changes.Publish(type); },
                         .seed = 1});
  auto plane = std::make_unique<ControlPlane>(
      executor, *types, metrics,
      ControlPlaneOptions{.types = {"dp"}, .on_error = [&](const Error& error) {
                            errors.push_back(error.message);
                          }});
  plane->Follow(changes);
  types->Start();
  const auto carrier = std::make_shared<FakeCarrier>();
  const auto stream = plane->Open(carrier);
  plane->Receive(stream, {.node = "zone-1", .type = "dp"});
  executor.Advance(2s);
  ASSERT_EQ(carrier->sent.size(), 1U);
  EXPECT_EQ(carrier->sent[0].resources.at(0).name, "a");
  plane->Sent(stream);
  plane->Receive(stream, {.type = "dp", .nonce = "1"});
  store.Delete("/dp/a");
  executor.Advance(2s);
  ASSERT_EQ(carrier->sent.size(), 2U);
  EXPECT_THAT(carrier->sent[1].removed, ElementsAre("a"));
  EXPECT_THAT(errors, IsEmpty());
  plane.reset();
  types.reset();
}

}  // namespace
}  // namespace kvorum::sync
