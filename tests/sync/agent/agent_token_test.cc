// Entries that are written with a token of their own: the behaviour H7.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// The world's store as a token sees it.
class StoreOfToken final : public Store {
 public:
  StoreOfToken(Store& store, std::vector<TxnRequest>& writes, std::optional<Error> refusal)
      : store_(store), writes_(writes), refusal_(std::move(refusal)) {}
  void Txn(TxnRequest request, OnAnswer<TxnAnswer> on_answer) override {
    writes_.push_back(request);
    if (refusal_) return on_answer(Fail(*refusal_));
    store_.Txn(std::move(request), std::move(on_answer));
  }
  void Range(RangeRequest, OnAnswer<RangeAnswer> on_answer) override { Refuse(on_answer); }
  std::unique_ptr<StoreWatch> Watch(WatchRequest, WatchSink) override { return nullptr; }
  void LeaseGrant(std::int64_t, OnAnswer<LeaseAnswer> on_answer) override { Refuse(on_answer); }
  void LeaseKeepAlive(std::int64_t, OnAnswer<LeaseAnswer> on_answer) override { Refuse(on_answer); }
  void LeaseRevoke(std::int64_t, OnAnswer<LeaseAnswer> on_answer) override { Refuse(on_answer); }
  bool has_ordered_progress() const override { return true; }

 private:
  template <class T>
  static void Refuse(OnAnswer<T>& on_answer) {
    on_answer(Fail(Code::kUnimplemented, "a token's store is only written"));
  }
  Store& store_;
  std::vector<TxnRequest>& writes_;
  const std::optional<Error> refusal_;
};

class AgentTokens : public AgentWorld {
 protected:
  AgentTokens() {
    options_.store_of = [this](const std::string& token, CatalogPassOptions::OnStore on_store) {
      asked_.push_back(token);
      if (unknown_) return on_store(Fail(*unknown_));
      std::optional<Error> refusal;
      if (const auto found = refusals_.find(token); found != refusals_.end())
        refusal = found->second;
      on_store(std::make_shared<StoreOfToken>(store_, writes_[token], std::move(refusal)));
    };
  }
  static Entry Of(const std::string& token, const std::string& id) {
    Entry entry = Web(id);
    entry.token = token;
    return entry;
  }
  void Register(Agent& agent, const std::vector<Entry>& entries) {
    {
      const PauseGuard guard(agent.syncer->pause());
      for (const Entry& entry : entries) ASSERT_TRUE(agent.syncer->Register(entry));
    }
    Pass(1s);
  }

  std::vector<std::string> asked_;
  std::optional<Error> unknown_;
  std::map<std::string, Error> refusals_;
  std::map<std::string, std::vector<TxnRequest>> writes_;  // by token
};

TEST_F(AgentTokens, H7_AnEntryIsWrittenAndRemovedWithItsToken) {
  options_.keeps_records = true;
  const auto agent = Started("n1", {"plain"});
  EXPECT_THAT(asked_, IsEmpty());
  Register(*agent, {Of("t1", "a"), Of("t1", "b"), Of("t2", "c"), Web("d")});
  EXPECT_THAT(asked_, ElementsAre("t1", "t2")) << "a transaction for each token";
  for (const std::string id : {"a", "b", "c", "d"}) EXPECT_EQ(Remote(id), "v");
  ASSERT_THAT(writes_["t1"], SizeIs(1));
  EXPECT_THAT(writes_["t1"][0].then, SizeIs(6));
  EXPECT_THAT(writes_["t1"][0].compares, SizeIs(1)) << "the session";
  EXPECT_FALSE(Writes(writes_["t2"][0], "/d"));
  ASSERT_TRUE(agent->syncer->Deregister("a"));
  Pass(1s);
  EXPECT_THAT(writes_["t1"], SizeIs(2));
  EXPECT_EQ(store_.ValueOf(EntryKey("a")), "");
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
}

TEST_F(AgentTokens, H7_ARefusedTokenBlocksItsEntriesAlone) {
  const auto agent = Started("n1");
  refusals_ = {{"t1", {Code::kPermissionDenied, "permission denied"}},
               {"t2", {Code::kUnauthenticated, "invalid auth token"}}};
  Register(*agent, {Of("t1", "a"), Of("t1", "b"), Of("t2", "c"), Of("t3", "d"), Web("e")});
  EXPECT_EQ(agent->syncer->status().blocked, 3U);
  EXPECT_EQ(Remote("a"), "");
  EXPECT_EQ(Remote("c"), "");
  EXPECT_EQ(Remote("d"), "v");
  EXPECT_EQ(Remote("e"), "v");
  refusals_.clear();
  agent->syncer->SyncNow();
  Pass(1s);
  EXPECT_EQ(agent->syncer->status().blocked, 0U);
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_EQ(Remote("c"), "v");
}

TEST_F(AgentTokens, H7_ARegistrationWithAnotherTokenIsTriedAtOnce) {
  const auto agent = Started("n1");
  refusals_ = {{"t1", {Code::kPermissionDenied, "permission denied"}}};
  Register(*agent, {Of("t1", "a")});
  EXPECT_EQ(agent->syncer->status().blocked, 1U);
  Register(*agent, {Of("t1", "a")});
  EXPECT_EQ(agent->syncer->status().blocked, 1U) << "the same token waits for the full sync";
  Register(*agent, {Of("t2", "a")});
  EXPECT_EQ(agent->syncer->status().blocked, 0U);
  EXPECT_EQ(Remote("a"), "v");
}

TEST_F(AgentTokens, H7_ATokenThatNobodyKnowsBlocksAndAStoreThatIsAwayDoesNot) {
  const auto agent = Started("n1");
  unknown_ = Error{Code::kUnauthenticated, "authentication failed"};
  Register(*agent, {Of("t1", "a"), Web("b")});
  EXPECT_EQ(agent->syncer->status().blocked, 1U);
  EXPECT_EQ(Remote("b"), "v");
  unknown_ = kDown;
  agent->syncer->SyncNow();
  Pass(1s);
  EXPECT_EQ(agent->syncer->status().blocked, 0U);
  EXPECT_EQ(agent->syncer->status().last_error, "no endpoint");
  unknown_.reset();
  Pass(60s);
  EXPECT_EQ(Remote("a"), "v");
}

TEST_F(AgentTokens, WithoutAStoreOfItATokenIsNotUsed) {
  options_.store_of = nullptr;
  const auto agent = Started("n1");
  Register(*agent, {Of("t1", "a")});
  EXPECT_EQ(Remote("a"), "v");
}

TEST_F(AgentTokens, H7_ATokenIsRememberedAndNotShown) {
  const auto agent = Started("n1");
  Register(*agent, {Of("t1", "a")});
  EXPECT_THAT(DecodeState(agent->saved).value().entries, ElementsAre(Of("t1", "a")));
  for (const auto& [key, kv] : store_.keys()) EXPECT_FALSE(kv.value.contains("t1")) << key;
}

}  // namespace
}  // namespace kvorum::sync
