// An agent's lease and name: lost, held by another, given up, taken over after a restart (A15 to
// A18).
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using AgentSessions = AgentWorld;

TEST_F(AgentSessions, A15_ALostLeaseIsReplacedAndEverythingRegisteredAgain) {
  const auto agent = Started("n1", {"a", "b"});
  const std::int64_t lease = agent->syncer->status().lease;
  store_.ExpireLease(lease);
  EXPECT_THAT(store_.KeysUnder("/r/"), IsEmpty());
  Pass(10s + 100ms);  // the next renewal tells
  EXPECT_NE(agent->syncer->status().lease, lease);
  EXPECT_THAT(store_.KeysUnder("/r/catalog/"), ElementsAre(EntryKey("a"), EntryKey("b")));
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
}

TEST_F(AgentSessions, A15_AnOutageLongerThanTheLeaseIsOvercome) {
  const auto agent = Started("n1", {"a"});
  store_.down = kDown;
  Pass(40s);
  EXPECT_THAT(store_.KeysUnder("/r/"), IsEmpty());
  store_.down.reset();
  Pass(31s);
  EXPECT_EQ(Remote("a"), "v");
}

TEST_F(AgentSessions, A15_ARemovedSessionIsMadeAgainOnTheSameLease) {
  const auto agent = Started("n1", {"a"});
  const SyncerStatus before = agent->syncer->status();
  store_.Delete("/r/nodes/n1");
  ASSERT_TRUE(agent->syncer->Register(Web("b")));
  Pass(1s);
  EXPECT_EQ(agent->syncer->status().lease, before.lease);
  EXPECT_NE(agent->syncer->status().session_revision, before.session_revision);
  EXPECT_EQ(Remote("b"), "v");
}

TEST_F(AgentSessions, AStoreThatGrantsNoLeaseOrTellsNoRevisionIsAnError) {
  store_.granted_id = 0;
  auto agent = NewAgent("n1");
  ASSERT_TRUE(agent->syncer->Register(Web("a")));
  ASSERT_TRUE(agent->syncer->Start());
  Pass(60s);
  EXPECT_EQ(agent->syncer->status().last_error, "the store granted a lease 0");
  EXPECT_LT(store_.grants, 10);
  store_.granted_id.reset();
  store_.written_revision = 0;
  agent->errors.clear();
  Pass(61s);
  ASSERT_THAT(agent->errors, SizeIs(1));
  EXPECT_EQ(agent->errors.front().message, "the store returned no revision for node n1");
  EXPECT_EQ(Remote("a"), "v") << "the key itself tells it to the next full sync";
}

TEST_F(AgentSessions, APassWithoutASessionWritesNothing) {
  SharedRegistry registry({});
  ASSERT_TRUE(registry.registry.Register(Web("a")));
  Pause pause([](kvorum::sync::Pass) {});
  const Loop loop(executor_, [](TimePoint) { return kNever; });
  CatalogPass pass(store_, registry, pause, loop.handle(),
                   {.keys = CatalogKeys("/r"), .node = "n1"});
  for (const CatalogPass::Session session : {CatalogPass::Session{.lease = 1, .revision = 0},
                                             CatalogPass::Session{.lease = 0, .revision = 1}}) {
    std::vector<CatalogPass::Outcome::End> ends;
    const auto note = [&](const CatalogPass::Outcome& outcome) { ends.push_back(outcome.end); };
    pass.Begin(kvorum::sync::Pass::kChanges, session, note);
    pass.Begin(kvorum::sync::Pass::kFull, session, note);
    pass.BeginRemoval(session, note);
    EXPECT_THAT(ends, SizeIs(3));
    EXPECT_THAT(ends, testing::Each(CatalogPass::Outcome::End::kSessionLost));
  }
  Pass(1s);
  EXPECT_EQ(store_.ranges + store_.txns, 0);
}

TEST_F(AgentSessions, AnAgentWhoseNameIsNoneDoesNotBegin) {
  for (const char* name : {"", "a/b", "a\nb", "\xff"}) {
    const auto agent = NewAgent(name);
    ASSERT_TRUE(agent->syncer->Register(Web("a")));
    EXPECT_EQ(agent->syncer->Start().error().code, Code::kInvalidArgument) << name;
    Pass(60s);
  }
  options_.ttl_s = 0;
  EXPECT_EQ(NewAgent("n1")->syncer->Start().error().message, "the time to live is below a second");
  EXPECT_EQ(store_.ranges + store_.txns + store_.grants, 0);
}

TEST_F(AgentSessions, A15_AStoreThatForgetsLeasesIsNotAskedWithoutRest) {
  auto agent = NewAgent("n1");
  store_.refuse = [](const TxnRequest&) {
    return Error{Code::kNotFound, "requested lease not found"};
  };
  ASSERT_TRUE(agent->syncer->Start());
  Pass(60s);
  EXPECT_GT(store_.grants, 3);
  EXPECT_LT(store_.grants, 30);
}

TEST_F(AgentSessions, A16_ASecondAgentOfTheNameIsRefused) {
  const auto first = Started("n1", {"a"});
  auto second = NewAgent("n1");
  ASSERT_TRUE(second->syncer->Register(Web("a", "other")));
  ASSERT_TRUE(second->syncer->Register(Web("b", "other")));
  ASSERT_TRUE(second->syncer->Start());
  for (int i = 0; i < 300; ++i) {
    Pass(1s);
    ASSERT_THAT(store_.KeysUnder("/r/catalog/"), ElementsAre(EntryKey("a")));
    ASSERT_EQ(Remote("a"), "v");
  }
  EXPECT_TRUE(second->syncer->status().is_held_by_another);
  EXPECT_EQ(second->syncer->status().last_error, "node n1 is held by another agent");
  EXPECT_THAT(store_.leases(), SizeIs(1)) << "the refused one holds no lease";
  // When the first dies the second has the name.
  first->syncer->Stop();
  Pass(61s);
  EXPECT_FALSE(second->syncer->status().is_held_by_another);
  EXPECT_EQ(Remote("a"), "other");
  EXPECT_EQ(Remote("b"), "other");
}

TEST_F(AgentSessions, A16_TheFirstIsFencedOnceAnotherHoldsTheName) {
  const auto first = Started("n1", {"a", "only-first"});
  store_.Delete("/r/nodes/n1");
  const auto second = Started("n1", {"a"});
  ASSERT_TRUE(second->syncer->Register(Web("a", "second")));
  Pass(1s);
  ASSERT_EQ(Remote("a"), "second");
  // The first one's later changes arrive nowhere.
  ASSERT_TRUE(first->syncer->Register(Web("a", "first")));
  for (int i = 0; i < 200; ++i) {
    Pass(1s);
    ASSERT_EQ(Remote("a"), "second");
  }
  EXPECT_TRUE(first->syncer->status().is_held_by_another);
  EXPECT_THAT(store_.KeysUnder("/r/catalog/"), ElementsAre(EntryKey("a")));
  EXPECT_THAT(store_.leases(), SizeIs(1));
}

TEST_F(AgentSessions, A16_AKeyOfTheNodeThatSomebodyOverwroteIsPutBack) {
  const auto agent = Started("n1", {"a"});
  const SyncerStatus before = agent->syncer->status();
  store_.Put("/r/nodes/n1", "scribbled");
  agent->syncer->SyncNow();
  Pass(1s);
  const SyncerStatus after = agent->syncer->status();
  EXPECT_FALSE(after.is_held_by_another);
  EXPECT_EQ(after.lease, before.lease);
  EXPECT_EQ(after.session_revision, before.session_revision);
  EXPECT_EQ(store_.keys().at("/r/nodes/n1").lease, before.lease);
  EXPECT_EQ(store_.ValueOf("/r/nodes/n1"), "");
  EXPECT_EQ(Remote("a"), "v");
}

TEST_F(AgentSessions, A16_AnOverwrittenKeyIsPutBackAfterTheLeaseToo) {
  const auto agent = Started("n1", {"a"});
  store_.Put("/r/nodes/n1", "scribbled");
  store_.ExpireLease(agent->syncer->status().lease);
  Pass(11s);  // the next renewal tells
  EXPECT_FALSE(agent->syncer->status().is_held_by_another);
  EXPECT_EQ(store_.keys().at("/r/nodes/n1").lease, agent->syncer->status().lease);
  EXPECT_EQ(Remote("a"), "v");
}

TEST_F(AgentSessions, A16_AnOverwrittenKeyIsPutBackByTheNextLife) {
  const auto first = Started("n1", {"a"});
  first->syncer->Stop();
  store_.Put("/r/nodes/n1", "scribbled");
  Pass(40s);
  EXPECT_THAT(store_.KeysUnder("/r/"), ElementsAre("/r/nodes/n1"));
  const auto second = NewAgent("n1", DecodeState(first->saved).value());
  ASSERT_TRUE(second->syncer->Start());
  Pass(1s);
  EXPECT_FALSE(second->syncer->status().is_held_by_another);
  EXPECT_EQ(store_.keys().at("/r/nodes/n1").lease, second->syncer->status().lease);
  EXPECT_EQ(Remote("a"), "v");
}

TEST_F(AgentSessions, A16_AKeyThatAnotherMadeMeanwhileIsNotOverwritten) {
  const auto agent = Started("n1", {"a"});
  store_.Put("/r/nodes/n1", "scribbled");
  store_.on_txn = [this](const TxnRequest& request) {
    const bool is_put_back = std::ranges::any_of(
        request.then, [](const Operation& op) { return op.key == "/r/nodes/n1"; });
    if (!is_put_back) return;
    store_.on_txn = nullptr;
    store_.Delete("/r/nodes/n1");
    store_.Put("/r/nodes/n1", "of another");
  };
  agent->syncer->SyncNow();
  Pass(1s);
  EXPECT_EQ(store_.ValueOf("/r/nodes/n1"), "of another");
  EXPECT_TRUE(agent->syncer->status().is_held_by_another);
}

TEST_F(AgentSessions, A17_LeaveRemovesTheKeysNow) {
  const auto agent = Started("n1", {"a", "b"});
  std::optional<Result<void>> left;
  agent->syncer->Leave([&](Result<void> result) { left = std::move(result); });
  Pass(100ms);
  ASSERT_TRUE(left.has_value());
  EXPECT_TRUE(left->has_value());
  EXPECT_THAT(store_.KeysUnder("/r/"), IsEmpty());
  ASSERT_TRUE(agent->syncer->Register(Web("c")));
  Pass(300s);
  EXPECT_THAT(store_.KeysUnder("/r/"), IsEmpty());
}

TEST_F(AgentSessions, A17_LeaveWaitsForThePassUnderWay) {
  const auto agent = Started("n1");
  store_.latency = 1s;
  ASSERT_TRUE(agent->syncer->Register(Web("a")));
  Pass(500ms);  // it is being written
  agent->syncer->Leave([](const Result<void>& result) { EXPECT_TRUE(result); });
  Pass(10s);
  EXPECT_THAT(store_.KeysUnder("/r/"), IsEmpty());
}

TEST_F(AgentSessions, A17_ALeaveThatAStopOvertakesIsCancelled) {
  const auto agent = Started("n1", {"a"});
  store_.latency = 1s;
  std::vector<Code> told;
  const auto leave = [&] {
    agent->syncer->Leave(
        [&](const Result<void>& left) { told.push_back(left ? Code::kOk : left.error().code); });
  };
  leave();
  Pass(500ms);  // its lease is being revoked
  leave();
  EXPECT_THAT(told, IsEmpty());
  agent->syncer->Stop();
  EXPECT_THAT(told, ElementsAre(Code::kCanceled, Code::kCanceled));
  leave();
  EXPECT_THAT(told, SizeIs(3)) << "nobody waits for ever";
  Pass(60s);
  EXPECT_THAT(told, SizeIs(3));
}

TEST_F(AgentSessions, A17_LeaveRemovesWhatSomebodyWroteOverToo) {
  const auto agent = Started("n1", {"a", "b"});
  ASSERT_TRUE(agent->syncer->Register({.id = "b", .name = "db", .value = "v"}));
  Pass(1s);
  for (const std::string& key :
       {EntryKey("a"), ServiceKey("b", "db"), std::string("/r/nodes/n1"), EntryKey("a stranger's")})
    store_.Put(key, "scribbled, on no lease");
  store_.Put("/r/services/web/n2.a", "another node's");
  bool has_left = false;
  agent->syncer->Leave([&](const Result<void>& left) { has_left = left.has_value(); });
  Pass(1s);
  EXPECT_TRUE(has_left);
  EXPECT_THAT(store_.KeysUnder("/r/"), ElementsAre("/r/services/web/n2.a"));
}

TEST_F(AgentSessions, A17_LeaveRemovesMoreThanATransactionHolds) {
  options_.max_txn_operations = 4;
  const auto agent = Started("n1", {"a", "b", "c", "d", "e", "f", "g"});
  store_.Put(ServiceKey("g"), "scribbled");
  agent->syncer->Leave([](const Result<void>& left) { EXPECT_TRUE(left); });
  Pass(1s);
  EXPECT_THAT(store_.KeysUnder("/r/"), IsEmpty());
}

TEST_F(AgentSessions, A17_AnAgentThatLostItsNameLeavesTheOthersKeys) {
  const auto first = Started("n1", {"a"});
  store_.Delete("/r/nodes/n1");
  const auto second = Started("n1", {"a"});
  const std::vector<std::string> keys = store_.KeysUnder("/r/");
  store_.Put(EntryKey("a"), "scribbled");
  bool has_left = false;
  first->syncer->Leave([&](const Result<void>& left) { has_left = left.has_value(); });
  Pass(1s);
  EXPECT_TRUE(has_left);
  EXPECT_EQ(store_.KeysUnder("/r/"), keys);
}

TEST_F(AgentSessions, A17_ALeaveWithoutPermissionLeavesTheRestToTheLease) {
  const auto agent = Started("n1", {"a"});
  store_.refuse = [](const TxnRequest&) {
    return Error{Code::kPermissionDenied, "etcdserver: permission denied"};
  };
  bool has_left = false;
  agent->syncer->Leave([&](const Result<void>& left) { has_left = left.has_value(); });
  Pass(1s);
  EXPECT_TRUE(has_left);
  EXPECT_THAT(store_.KeysUnder("/r/"), IsEmpty());
}

TEST_F(AgentSessions, A17_EveryLeaveIsAnswered) {
  const auto agent = Started("n1", {"a"});
  int told = 0;
  const auto leave = [&] {
    agent->syncer->Leave([&](const Result<void>& left) { told += left ? 1 : 0; });
  };
  leave();
  leave();
  Pass(1s);
  EXPECT_EQ(told, 2);
  leave();
  Pass(1s);
  EXPECT_EQ(told, 3);
}

TEST_F(AgentSessions, A17_StopLeavesTheKeysToTheLease) {
  const auto agent = Started("n1", {"a"});
  agent->syncer->Stop();
  Pass(19s);
  EXPECT_THAT(store_.KeysUnder("/r/"), SizeIs(3));
  Pass(12s);
  EXPECT_THAT(store_.KeysUnder("/r/"), IsEmpty());
}

TEST_F(AgentSessions, A18_ARestartWithinTheLeaseGoesUnnoticed) {
  auto first = NewAgent("n1");
  Entry checked = Checked("a");
  checked.checks[0].definition.interval = 1h;  // its time to live does not end meanwhile
  ASSERT_TRUE(first->syncer->Register(checked));
  ASSERT_TRUE(first->syncer->Register(Web("b", std::string("\xff\0bytes", 7))));
  ASSERT_TRUE(first->syncer->Start());
  Pass(1s);
  ASSERT_TRUE(first->syncer->UpdateCheck("a", "up", Health::kPassing, "waits"));
  Pass(1s);
  first->syncer->Stop();
  const std::size_t changes = store_.changes().size();
  Pass(15s);
  const auto state = DecodeState(first->saved);
  ASSERT_TRUE(state);
  auto second = NewAgent("n1", *state);
  ASSERT_TRUE(second->syncer->Start());
  Pass(100s);
  EXPECT_EQ(second->syncer->status().lease, state->lease);
  EXPECT_EQ(second->syncer->status().session_revision, state->session_revision);
  EXPECT_EQ(second->syncer->status().dirty, 0U);
  EXPECT_EQ(store_.changes().size(), changes) << "no delete, and no value put again";
  EXPECT_THAT(store_.KeysUnder("/r/"), SizeIs(5));
}

TEST_F(AgentSessions, A18_ALifeThatIsCutOffAnywhereTellsNoOlderStatusInItsNext) {
  save_time_ = 30ms;
  for (Duration cut = 0ms; cut < 100ms; cut += 3ms) {
    const auto first = Started("n1");
    ASSERT_TRUE(first->syncer->Register(Checked("a")));
    Pass(1s);
    ASSERT_TRUE(first->syncer->UpdateCheck("a", "up", Health::kCritical, "down"));
    Pass(cut);
    first->syncer->Stop();
    const bool is_told = RemoteOutput("a") == "down";
    const std::size_t changes = store_.changes().size();
    auto second = NewAgent("n1", DecodeState(first->saved).value());
    ASSERT_TRUE(second->syncer->Start());
    Pass(1s);
    if (is_told) {
      EXPECT_EQ(store_.changes().size(), changes) << "cut off after " << cut.count();
    }
    second->syncer->Leave([](const Result<void>& left) { EXPECT_TRUE(left); });
    Pass(1s);
    ASSERT_THAT(store_.KeysUnder("/r/"), IsEmpty());
  }
}

TEST_F(AgentSessions, A18_ADiskThatStallsHoldsNoWriteUpForLong) {
  const auto agent = Started("n1");
  save_time_ = 1h;
  ASSERT_TRUE(agent->syncer->Register(Web("a")));
  Pass(900ms);
  EXPECT_EQ(Remote("a"), "");
  Pass(200ms);
  EXPECT_EQ(Remote("a"), "v");
  ASSERT_TRUE(agent->syncer->Register(Web("b")));
  Pass(10ms);
  EXPECT_EQ(Remote("b"), "v");
}

// The first renewal fails, and the next full sync is later than the lease's end.
TEST_F(AgentSessions, A18_ARestartBesideAShortOutageGoesUnnoticed) {
  const auto first = Started("n1", {"a"});
  Pass(9s);
  first->syncer->Stop();  // the lease has 21 s left
  Pass(9s);
  const std::size_t changes = store_.changes().size();
  store_.down = kDown;
  auto second = NewAgent("n1", DecodeState(first->saved).value());
  ASSERT_TRUE(second->syncer->Start());
  Pass(1s);
  store_.down.reset();
  Pass(100s);
  EXPECT_EQ(store_.changes().size(), changes) << "no delete, and no value put again";
  EXPECT_EQ(second->syncer->status().dirty, 0U);
}

TEST_F(AgentSessions, A18_ARestartAfterTheLeaseRegistersAnew) {
  const auto first = Started("n1", {"a"});
  first->syncer->Stop();
  Pass(40s);
  EXPECT_THAT(store_.KeysUnder("/r/"), IsEmpty());
  auto second = NewAgent("n1", DecodeState(first->saved).value());
  ASSERT_TRUE(second->syncer->Start());
  Pass(1s);
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_NE(second->syncer->status().lease, first->syncer->status().lease);
}

TEST_F(AgentSessions, A18_AFailedSaveIsTriedAgain) {
  int saves = 0;
  options_.save = nullptr;
  SyncerOptions options;
  options.root = "/r";
  options.node = "n1";
  options.seed = 5;
  options.save = [&](const std::string&, SyncerOptions::OnSaved on_saved) {
    ++saves;
    on_saved(Fail(Code::kResourceExhausted, "disk full"));
  };
  Syncer syncer(store_, executor_, options);
  ASSERT_TRUE(syncer.Start());
  Pass(60s);
  EXPECT_GT(saves, 5);
  EXPECT_LT(saves, 40);
  EXPECT_EQ(syncer.status().last_error, "disk full");
}

}  // namespace
}  // namespace kvorum::sync
