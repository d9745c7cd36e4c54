// When an agent syncs: the behaviours A1 to A4 and A20 of docs/sync_behaviours.md.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using State = SyncSchedule::State;
using testing::ElementsAre;
using testing::SizeIs;

using AgentSchedule = AgentWorld;

TEST_F(AgentSchedule, A1_TheFirstSyncIsFullThoughAChangeWasTriggeredBefore) {
  auto agent = NewAgent("n1");
  ASSERT_TRUE(agent->syncer->Register(Web("a")));
  Pass(1s);
  EXPECT_EQ(store_.ranges + store_.txns, 0) << "nothing runs before the start";
  store_.Put("/r/catalog/n1/stray", "x");
  ASSERT_TRUE(agent->syncer->Start());
  Pass(100ms);
  EXPECT_EQ(agent->syncer->status().full_syncs, 1U);
  EXPECT_THAT(store_.KeysUnder("/r/catalog/"), ElementsAre(EntryKey("a")))
      << "only a full sync finds what others wrote";
  // The change that came before the start asks for nothing more.
  EXPECT_EQ(agent->syncer->status().state, State::kPartial);
  const int txns = store_.txns;
  Pass(5s);
  EXPECT_EQ(store_.txns, txns);
}

TEST_F(AgentSchedule, A2_AfterASuccessPartialSyncsFollow) {
  const auto agent = Started("n1");
  EXPECT_EQ(agent->syncer->status().state, State::kPartial);
  const int ranges = store_.ranges;
  ASSERT_TRUE(agent->syncer->Register(Web("a")));
  Pass(10ms);
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_EQ(store_.ranges, ranges) << "a partial sync reads nothing";
}

TEST_F(AgentSchedule, A2_AfterAnErrorTheRetryComesIn15To30Seconds) {
  for (int i = 0; i < 20; ++i) {
    auto agent = NewAgent("n" + std::to_string(i));
    store_.down = kDown;
    ASSERT_TRUE(agent->syncer->Start());
    Pass(1s);
    EXPECT_EQ(agent->syncer->status().state, State::kRetry);
    EXPECT_EQ(agent->syncer->status().last_error, "no endpoint");
    store_.down.reset();
    Pass(13'900ms);
    EXPECT_EQ(agent->syncer->status().full_syncs, 0U);
    Pass(15'200ms);
    EXPECT_EQ(agent->syncer->status().full_syncs, 1U);
  }
}

TEST_F(AgentSchedule, A2_APausedFullSyncRunsAtOnceOnTheLastResume) {
  auto agent = NewAgent("n1");
  {
    const PauseGuard outer(agent->syncer->pause());
    {
      const PauseGuard inner(agent->syncer->pause());
      ASSERT_TRUE(agent->syncer->Start());
      Pass(100s);
    }
    Pass(100s);
    EXPECT_EQ(agent->syncer->status().state, State::kRetry);
    EXPECT_EQ(store_.ranges + store_.txns, 0);
  }
  Pass(50ms);
  EXPECT_EQ(agent->syncer->status().full_syncs, 1U);
  EXPECT_EQ(agent->syncer->status().state, State::kPartial);
}

TEST_F(AgentSchedule, A3_TheNextFullSyncComesAfter60SecondsAndScaledJitter) {
  // 1,000 nodes: the factor is 4.
  for (const int nodes : {1, 1000}) {
    for (int i = 1; i < nodes; ++i) store_.Put("/r/nodes/other" + std::to_string(i), "");
    const Duration longest = nodes == 1 ? 120s : 300s;
    Duration least = 1h;
    Duration greatest = 0s;
    for (int i = 0; i < 30; ++i) {
      const auto agent = Started("n" + std::to_string(nodes) + "-" + std::to_string(i));
      const Duration wait = agent->syncer->status().next_full - executor_.Now() + 100ms;
      ASSERT_GE(wait, 60s);
      ASSERT_LE(wait, longest + 100ms);
      least = std::min(least, wait);
      greatest = std::max(greatest, wait);
    }
    EXPECT_LT(least, 60s + (longest - 60s) / 4);
    EXPECT_GT(greatest, longest - (longest - 60s) / 4);
    Pass(31s);  // those agents' leases
  }
}

TEST_F(AgentSchedule, A3_TheFactorFollowsTheClusterAsItWasLastRead) {
  const auto agent = Started("n1");
  EXPECT_EQ(agent->syncer->status().nodes, 1U);
  EXPECT_LE(agent->syncer->status().next_full - executor_.Now(), 120s);
  for (int i = 0; i < 9'999; ++i) store_.Put("/r/nodes/other" + std::to_string(i), "");
  // The factor is 8 now: among some full syncs one waits longer than any unscaled one.
  Duration greatest = 0s;
  for (std::uint64_t syncs = 2; syncs < 12; ++syncs) {
    agent->syncer->SyncNow();
    Pass(100ms);
    ASSERT_EQ(agent->syncer->status().full_syncs, syncs);
    EXPECT_EQ(agent->syncer->status().nodes, 10'000U);
    const Duration wait = agent->syncer->status().next_full - executor_.Now();
    EXPECT_LE(wait, 60s + 8 * 60s);
    greatest = std::max(greatest, wait);
  }
  EXPECT_GT(greatest, 120s);
}

TEST_F(AgentSchedule, A3_FullSyncsComeAgainAndAgain) {
  const auto agent = Started("n1", {"a"});
  Pass(600s);
  EXPECT_GE(agent->syncer->status().full_syncs, 6U);
  EXPECT_LE(agent->syncer->status().full_syncs, 11U);
  EXPECT_EQ(store_.writes.size(), 2U) << "nothing differed: only the session and the entry";
}

TEST_F(AgentSchedule, A4_AFullSyncFollowsWithinThreeSecondsOfATrigger) {
  const auto agent = Started("n1");
  std::uint64_t syncs = 1;
  for (int i = 0; i < 10; ++i) {
    agent->syncer->SyncSoon();
    Pass(3'100ms);
    EXPECT_EQ(agent->syncer->status().full_syncs, ++syncs);
    agent->syncer->SyncSoon();
    agent->syncer->SyncSoon();
    Pass(3'100ms);
    EXPECT_EQ(agent->syncer->status().full_syncs, ++syncs);
  }
}

TEST_F(AgentSchedule, A4_ATriggerShortensTheRetryToo) {
  auto agent = NewAgent("n1");
  store_.down = kDown;
  ASSERT_TRUE(agent->syncer->Start());
  Pass(1s);
  store_.down.reset();
  agent->syncer->SyncSoon();
  Pass(3'100ms);
  EXPECT_EQ(agent->syncer->status().full_syncs, 1U);
}

TEST_F(AgentSchedule, A4_ARenewalThatSucceedsAgainIsAStoreThatIsReachable) {
  options_.schedule.backoff.cap = 1s;
  const auto agent = Started("n1", {"a"});
  store_.down = kDown;
  Pass(12s);  // a renewal fails
  store_.Put(EntryKey("a"), "changed meanwhile");
  store_.down.reset();
  Pass(1s + 3'100ms);
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_EQ(agent->syncer->status().full_syncs, 2U);
}

TEST_F(AgentSchedule, A20_TheFullSyncsOf1000AgentsAreSpread) {
  constexpr int kAgents = 1000;
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < kAgents; ++i) {
    agents.push_back(NewAgent("n" + std::to_string(i)));
    ASSERT_TRUE(agents.back()->syncer->Start());
  }
  Pass(1s);
  // They began together. Of the full syncs that follow, no second has more than a twentieth.
  for (int second = 0; second < 600; ++second) {
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    for (const auto& agent : agents) before += agent->syncer->status().full_syncs;
    Pass(1s);
    for (const auto& agent : agents) after += agent->syncer->status().full_syncs;
    ASSERT_LE(after - before, kAgents / 20U) << "second " << second;
  }
  for (const auto& agent : agents) {
    EXPECT_GE(agent->syncer->status().full_syncs, 2U);
    EXPECT_EQ(agent->syncer->status().session_revision != 0, true);
  }
}

// 1,000 agents of which each knows that there are 1,000.
class AgentCrowd : public AgentWorld {
 protected:
  static constexpr std::uint64_t kAgents = 1000;

  void StartAll() {
    for (std::uint64_t i = 0; i < kAgents; ++i) {
      agents_.push_back(NewAgent("n" + std::to_string(i)));
      ASSERT_TRUE(agents_.back()->syncer->Start());
    }
    Pass(1s);
    for (const auto& agent : agents_) agent->syncer->SyncNow();
    Pass(1s);
    for (const auto& agent : agents_) ASSERT_EQ(agent->syncer->status().nodes, kAgents);
  }
  std::uint64_t FullPasses() const {
    std::uint64_t sum = 0;
    for (const auto& agent : agents_) sum += agent->syncer->full_passes();
    return sum;
  }
  // The most full passes that one of the next seconds has.
  std::uint64_t MostInASecond(int seconds) {
    std::uint64_t most = 0;
    for (int second = 0; second < seconds; ++second) {
      const std::uint64_t before = FullPasses();
      Pass(1s);
      most = std::max(most, FullPasses() - before);
    }
    return most;
  }

  std::vector<std::unique_ptr<Agent>> agents_;
};

TEST_F(AgentCrowd, A20_AgentsThatHearTogetherThatTheStoreIsBackAreSpread) {
  StartAll();
  const std::uint64_t before = FullPasses();
  for (const auto& agent : agents_) agent->syncer->SyncSoon();
  EXPECT_LE(MostInASecond(49), kAgents / 20);
  EXPECT_GE(FullPasses() - before, kAgents) << "each has come";
}

TEST_F(AgentCrowd, A20_AgentsThatFailTogetherComeBackSpread) {
  StartAll();
  store_.down = kDown;
  for (const auto& agent : agents_) agent->syncer->SyncNow();
  Pass(1s);
  store_.down.reset();
  const std::uint64_t before = FullPasses();
  EXPECT_LE(MostInASecond(75), kAgents / 20);
  EXPECT_GE(FullPasses() - before, kAgents);
}

}  // namespace
}  // namespace kvorum::sync
