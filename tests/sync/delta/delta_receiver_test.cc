// A subscriber's side of the delta discovery protocol.
#include "sync/delta/delta_receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace kvorum::sync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// Keeps resources of one type in memory, and refuses those that begin with "bad".
class MemorySink final : public DeltaSink {
 public:
  std::map<std::string, Held> Load(const std::string&) override { return loaded; }
  Result<void> Put(const std::string&, const DeltaResource& resource) override {
    if (resource.bytes->starts_with("bad")) return Fail(Code::kInvalidArgument, "not JSON");
    calls.push_back(resource.name + "=" + *resource.bytes);
    return {};
  }
  void Remove(const std::string&, const std::string& name) override { calls.push_back("-" + name); }
  std::vector<std::string> TakeCalls() { return std::exchange(calls, {}); }

  std::map<std::string, Held> loaded;
  std::vector<std::string> calls;
};

class SyncDeltaReceiver : public testing::Test {
 protected:
  DeltaReceiver Make() { return DeltaReceiver(sink, "zone-1", {"dp"}); }
  static DeltaResponse Response(const std::map<std::string, std::string>& texts,
                                std::vector<std::string> removed = {},
                                std::string system_version = "v") {
    DeltaResponse response{.type = "dp",
                           .nonce = "7",
                           .system_version = std::move(system_version),
                           .removed = std::move(removed)};
    for (const auto& [name, text] : texts)
      response.resources.push_back(
          {name, HashOf(text).Hex(), std::make_shared<const std::string>(text)});
    return response;
  }
  static DeltaSink::Held Held(const std::string& text) {
    return {HashOf(text).Hex(), HashOf(text)};
  }
  MemorySink sink;
};

TEST_F(SyncDeltaReceiver, W8_PresentsWhatItHoldsAlsoAfterALostStream) {
  sink.loaded = {{"a", Held("1")}};
  DeltaReceiver receiver = Make();
  auto begun = receiver.Begin();
  ASSERT_EQ(begun.size(), 1U);
  EXPECT_EQ(begun[0].node, "zone-1");
  EXPECT_EQ(begun[0].type, "dp");
  EXPECT_THAT(begun[0].initial_versions, ElementsAre(Pair("a", HashOf("1").Hex())));
  receiver.Receive(Response({{"b", "1"}}, {"a"}));
  EXPECT_THAT(sink.TakeCalls(), ElementsAre("-a", "b=1"));
  begun = receiver.Begin();
  EXPECT_THAT(begun[0].initial_versions, ElementsAre(Pair("b", HashOf("1").Hex())));
  receiver.Receive(Response({{"c", "1"}}));
  EXPECT_THAT(sink.TakeCalls(), ElementsAre("c=1")) << "b is not taken for an extra";
}

TEST_F(SyncDeltaReceiver, W12_ExtrasAreRemovedAfterTheWholeSetOfAStreamWithoutVersions) {
  sink.loaded = {{"a", Held("1")}, {"b", {"", HashOf("1")}}, {"c", Held("1")}};
  DeltaReceiver receiver = Make();
  EXPECT_THAT(receiver.Begin()[0].initial_versions, IsEmpty()) << "one of them is not known";
  const DeltaRequest answer = receiver.Receive(Response({{"a", "1"}, {"d", "1"}}));
  EXPECT_EQ(answer.nonce, "7");
  EXPECT_EQ(answer.refusal, std::nullopt);
  EXPECT_THAT(sink.TakeCalls(), ElementsAre("d=1", "-b", "-c"));
  receiver.Receive(Response({{"e", "1"}}));
  EXPECT_THAT(sink.TakeCalls(), ElementsAre("e=1")) << "a difference";
}

TEST_F(SyncDeltaReceiver, W12_NothingIsTakenForAnExtraBeforeTheLastPart) {
  sink.loaded = {{"a", {"", HashOf("1")}}, {"b", {"", HashOf("1")}}, {"c", {"", HashOf("1")}}};
  DeltaReceiver receiver = Make();
  receiver.Begin();
  receiver.Receive(Response({{"a", "1"}, {"x", "1"}}, {}, "v1+"));
  EXPECT_THAT(sink.TakeCalls(), ElementsAre("x=1"));
  receiver.Receive(Response({{"b", "1"}}, {"x"}, "v2"));
  EXPECT_THAT(sink.TakeCalls(), ElementsAre("-x", "-c"));
}

TEST_F(SyncDeltaReceiver, W13_ANameAddedAndRemovedInOneResponseIsAnUpdate) {
  sink.loaded = {{"a", Held("1")}};
  DeltaReceiver receiver = Make();
  receiver.Begin();
  receiver.Receive(Response({{"a", "2"}}, {"a"}));
  EXPECT_THAT(sink.TakeCalls(), ElementsAre("a=2"));
}

TEST_F(SyncDeltaReceiver, W20_AnInvalidResourceIsNamedInOneAnswerAndTheOthersAreApplied) {
  sink.loaded = {{"b", Held("1")}};
  DeltaReceiver receiver = Make();
  receiver.Begin();
  const DeltaRequest answer =
      receiver.Receive(Response({{"a", "1"}, {"b", "bad"}, {"c", "bad"}, {"d", "1"}}));
  EXPECT_EQ(answer.nonce, "7");
  EXPECT_EQ(answer.refusal, "2 of 4 resources refused: b: not JSON; c: not JSON");
  EXPECT_THAT(sink.TakeCalls(), ElementsAre("a=1", "d=1"));
  EXPECT_EQ(receiver.Begin()[0].initial_versions["b"], HashOf("1").Hex()) << "the one it holds";
  EXPECT_EQ(receiver.Receive(Response({{"b", "2"}})).refusal, std::nullopt);
}

TEST_F(SyncDeltaReceiver, W20_TheTextOfARefusalIsBounded) {
  DeltaReceiver receiver = Make();
  receiver.Begin();
  std::map<std::string, std::string> texts;
  for (int i = 0; i < 1000; ++i) texts["name-" + std::to_string(i)] = "bad";
  const auto refusal = receiver.Receive(Response(texts)).refusal;
  EXPECT_THAT(refusal.value(), HasSubstr("1000 of 1000 resources refused: name-0: not JSON; "));
  EXPECT_LE(refusal->size(), 4096U);
}

TEST_F(SyncDeltaReceiver, EqualContentIsNotWrittenAgain) {
  sink.loaded = {{"a", {"of another server", HashOf("1")}}};
  DeltaReceiver receiver = Make();
  receiver.Begin();
  receiver.Receive(Response({{"a", "1"}}));
  EXPECT_THAT(sink.TakeCalls(), IsEmpty());
  EXPECT_EQ(receiver.Begin()[0].initial_versions["a"], HashOf("1").Hex());
}

TEST_F(SyncDeltaReceiver, ATypeThatWasNotAskedForIsRefused) {
  DeltaReceiver receiver = Make();
  receiver.Begin();
  EXPECT_EQ(receiver.Receive({.type = "mesh", .nonce = "1"}).refusal,
            "type mesh was not asked for");
}

}  // namespace
}  // namespace kvorum::sync
