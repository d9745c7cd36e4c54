// The question whether the store lets entries be written, which writes nothing.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sync/agent_world.h"
#include "tests/sync/forwarding_store.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class AgentPermission : public AgentWorld {
 protected:
  // Nothing: it was not answered.
  std::optional<Result<void>> Ask(Agent& agent, const std::vector<EntryPlace>& places,
                                  const std::string& token = {}) {
    auto said = std::make_shared<std::optional<Result<void>>>();
    agent.syncer->AskToWrite(places, token, [said](Result<void> answer) {
      EXPECT_FALSE(said->has_value()) << "once";
      *said = std::move(answer);
    });
    Pass(1s);
    return *said;
  }
  void Deny(const std::string& part) {
    store_.refuse = [part](const TxnRequest& request) -> std::optional<Error> {
      if (Writes(request, part)) return Error{Code::kPermissionDenied, "permission denied"};
      return {};
    };
  }
};

TEST_F(AgentPermission, TheKeysThatWouldBeWrittenAreNamedAndNotWritten) {
  options_.keeps_records = true;
  const auto agent = Started("n1");
  const std::size_t changes = store_.changes().size();
  store_.writes.clear();
  ASSERT_TRUE(Ask(*agent, {PlaceOf(Web("a")), {.id = "a", .name = "old"}, PlaceOfNode()}).value());
  EXPECT_EQ(store_.changes().size(), changes);
  ASSERT_EQ(store_.writes.size(), 1U);
  std::vector<std::string> keys;
  for (const Operation& op : store_.writes[0].then) {
    keys.push_back(op.key);
    // A store may ask for the right to write all keys of the lease.
    const bool is_kept = op.key.starts_with("/r/registry/");
    EXPECT_EQ(op.lease, is_kept ? 0 : agent->syncer->status().lease) << op.key;
  }
  EXPECT_THAT(keys, ElementsAre(EntryKey("a"), "/r/registry/node/n1", "/r/registry/service/n1/a",
                                ServiceKey("a", "old"), ServiceKey("a")));
}

TEST_F(AgentPermission, WithoutRecordsNoneIsAskedAbout) {
  const auto agent = Started("n1");
  store_.writes.clear();
  EXPECT_TRUE(Ask(*agent, {PlaceOf(Web("a"))}).value());
  ASSERT_EQ(store_.writes.size(), 1U);
  EXPECT_EQ(store_.writes[0].then.size(), 2U);
  EXPECT_TRUE(Ask(*agent, {PlaceOfNode()}).value()) << "nothing would be written";
  EXPECT_EQ(store_.writes.size(), 1U);
}

TEST_F(AgentPermission, ManyKeysAreAskedAboutInParts) {
  options_.max_txn_operations = 4;
  const auto agent = Started("n1");
  std::vector<EntryPlace> places;
  for (int i = 0; i < 9; ++i) places.push_back(PlaceOf(Web(std::to_string(i))));
  store_.writes.clear();
  EXPECT_TRUE(Ask(*agent, places).value());
  EXPECT_EQ(store_.writes.size(), 5U);
  for (const TxnRequest& request : store_.writes) EXPECT_LE(request.then.size(), 4U);
  for (const std::string refused : {"n1.0", "n1.8", "/catalog/n1/4"}) {
    Deny(refused);
    EXPECT_EQ(Ask(*agent, places).value().error().code, Code::kPermissionDenied) << refused;
  }
}

TEST_F(AgentPermission, AnAnswerSaysWhoRefused) {
  options_.store_of = [&](const std::string& token, CatalogPassOptions::OnStore on_store) {
    if (token == "unknown") return on_store(Fail(Code::kUnauthenticated, "invalid auth token"));
    if (token == "away") return on_store(Fail(kDown));
    on_store(std::make_shared<ForwardingStore>(store_));
  };
  const auto agent = Started("n1");
  EXPECT_TRUE(Ask(*agent, {PlaceOf(Web("a"))}, "t").value());
  EXPECT_EQ(Ask(*agent, {PlaceOf(Web("a"))}, "unknown").value().error().code,
            Code::kPermissionDenied);
  EXPECT_EQ(Ask(*agent, {PlaceOf(Web("a"))}, "away").value().error(), kDown);
  Deny("/a");
  EXPECT_EQ(Ask(*agent, {PlaceOf(Web("a"))}, "t").value().error().code, Code::kPermissionDenied);
  store_.down = kDown;
  EXPECT_EQ(Ask(*agent, {PlaceOf(Web("a"))}).value().error(), kDown);
}

TEST_F(AgentPermission, WhatTheStoreAllowsIsBlockedNoMore) {
  options_.keeps_records = true;
  options_.store_of = [&](const std::string&, CatalogPassOptions::OnStore on_store) {
    on_store(std::make_shared<ForwardingStore>(store_));
  };
  const auto agent = Started("n1");
  Deny("/");
  Entry with_token = Web("b");
  with_token.token = "t";
  ASSERT_TRUE(agent->syncer->Register(Web("a")));
  ASSERT_TRUE(agent->syncer->Register(with_token));
  ASSERT_TRUE(agent->syncer->Register(NodeCheck({.definition = {.id = "disk"}})));
  Pass(1s);
  EXPECT_EQ(agent->syncer->status().blocked, 3U);
  EXPECT_FALSE(Ask(*agent, {PlaceOf(Web("a"))}).value());
  EXPECT_EQ(agent->syncer->status().blocked, 3U);
  store_.refuse = nullptr;
  EXPECT_TRUE(Ask(*agent, {PlaceOf(with_token), PlaceOfNode()}, "other").value());
  EXPECT_EQ(agent->syncer->status().blocked, 3U) << "another token's rights";
  EXPECT_TRUE(Ask(*agent, {PlaceOf(Web("a")), PlaceOfNode()}).value());
  EXPECT_EQ(agent->syncer->status().blocked, 1U);
  EXPECT_TRUE(Ask(*agent, {PlaceOf(with_token)}, "t").value());
  EXPECT_EQ(agent->syncer->status().blocked, 0U);
  // The next change takes them along.
  ASSERT_TRUE(agent->syncer->Register(Web("c")));
  Pass(1s);
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_EQ(Remote("b"), "v");
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
}

TEST_F(AgentPermission, AQuestionIsCancelledByTheStop) {
  const auto agent = Started("n1");
  store_.latency = 1h;
  std::optional<Result<void>> said;
  agent->syncer->AskToWrite({PlaceOf(Web("a"))}, "",
                            [&](Result<void> answer) { said = std::move(answer); });
  agent->syncer->Stop();
  Pass(2h);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->error().code, Code::kCanceled);
}

TEST_F(AgentPermission, ARemovalWithATokenIsTheTokens) {
  std::vector<std::string> asked;
  options_.store_of = [&](const std::string& token, CatalogPassOptions::OnStore on_store) {
    asked.push_back(token);
    on_store(std::make_shared<ForwardingStore>(store_));
  };
  const auto agent = Started("n1", {"a", "b"});
  ASSERT_TRUE(agent->syncer->Deregister("a", "t"));
  ASSERT_TRUE(agent->syncer->Deregister("b"));
  Pass(1s);
  EXPECT_THAT(asked, ElementsAre("t"));
  EXPECT_EQ(store_.KeysUnder("/r/catalog/").size(), 0U);
}

}  // namespace
}  // namespace kvorum::sync
