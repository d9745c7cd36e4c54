// The time of day is set while an agent runs: nothing that it waits for comes earlier or later.
// Over a restart reports are remembered by the time of day.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sync/agent/agent_state.h"
#include "sync/checks/check_runner.h"
#include "tests/sync/catalog_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;

// Each probe succeeds at once, and is counted.
class CountingProber final : public Prober {
 public:
  void Begin(const CheckDefinition& /*check*/, OnEnd on_end) override {
    ++probes;
    on_end({.health = Health::kPassing, .output = "probe"});
  }
  int probes = 0;
};

// An agent with a check that is reported about and one that is probed.
class OneAgent {
 public:
  OneAgent() { Begin({}); }

  void Begin(const AgentState& state) {
    SyncerOptions options;
    options.root = "/r";
    options.node = "n1";
    options.seed = 7;
    options.keeps_records = true;
    options.save = [this](std::string saved, SyncerOptions::OnSaved on_saved) {
      saved_ = std::move(saved);
      executor_.Post([on_saved = std::move(on_saved)]() mutable { on_saved({}); });
    };
    syncer_ = std::make_unique<Syncer>(store_, executor_, options, state);
    EXPECT_TRUE(syncer_->Register(
        {.id = "a",
         .name = "web",
         .value = "v",
         .checks = {{.definition = {.id = "beat", .interval = 30s}},
                    {.definition = {.id = "up", .kind = CheckKind::kTcp, .target = "x:1"}}}}));
    runner_ = std::make_unique<CheckRunner>(executor_, prober_, *syncer_, 9);
    runner_->Refresh();
    EXPECT_TRUE(syncer_->Start());
    executor_.Advance(100ms);
  }
  void End() {
    runner_->Stop();
    syncer_->Stop();
  }
  // Ends, and begins again by what was saved.
  void Restart(Duration jump) {
    End();
    executor_.JumpWall(jump);
    Begin(DecodeState(saved_).value());
  }
  void Report() { EXPECT_TRUE(runner_->Report("a", "beat", Health::kPassing, "ok")); }
  Health BeatOf() {
    for (const auto& listed : syncer_->List(Registry::Which::kVisible))
      if (listed.entry.id == "a") return listed.entry.checks.front().health;
    return Health::kCritical;
  }
  void Pass(Duration d) { executor_.Advance(d); }
  void JumpWall(Duration d) { executor_.JumpWall(d); }

  // The agent's state from second to second, over four minutes with a jump in each.
  std::vector<std::string> Watch(const std::vector<Duration>& jumps) {
    std::vector<std::string> seen;
    for (const Duration jump : jumps) {
      Report();
      Pass(10s);
      JumpWall(jump);
      for (int second = 0; second < 50; ++second) {
        Pass(1s);
        const SyncerStatus status = syncer_->status();
        seen.push_back(std::string(HealthName(BeatOf())) + " probes " +
                       std::to_string(prober_.probes) + " changes " +
                       std::to_string(store_.changes().size()) + " syncs " +
                       std::to_string(status.full_syncs) + " lease " +
                       std::to_string(status.lease) + " errors " + status.last_error);
      }
    }
    return seen;
  }

 private:
  ManualExecutor executor_;
  CatalogStore store_{executor_};
  CountingProber prober_;
  std::string saved_;
  std::unique_ptr<Syncer> syncer_;
  std::unique_ptr<CheckRunner> runner_;
};

TEST(SyncClockJump, NothingInARunningAgentComesEarlierOrLater) {
  OneAgent still;
  OneAgent jumping;
  const auto expected = still.Watch({0s, 0s, 0s, 0s});
  EXPECT_EQ(jumping.Watch({1h, -1h, -1h, 24h * 365}), expected);
  // The check was critical 30 s after each report, and not before.
  EXPECT_THAT(expected[18], testing::StartsWith("passing "));
  EXPECT_THAT(expected[20], testing::StartsWith("critical "));
  still.End();
  jumping.End();
}

TEST(SyncClockJump, OverARestartADeadlineIsPutOffByAnIntervalAtMost) {
  OneAgent agent;
  agent.Report();
  agent.Pass(20s);
  agent.Restart(-1h);
  EXPECT_EQ(agent.BeatOf(), Health::kPassing);
  agent.Pass(29s);
  EXPECT_EQ(agent.BeatOf(), Health::kPassing);
  agent.Pass(2s);
  EXPECT_EQ(agent.BeatOf(), Health::kCritical);
  agent.End();
}

TEST(SyncClockJump, OverARestartAClockThatIsAheadEndsWhatWasReportedBefore) {
  OneAgent agent;
  agent.Report();
  agent.Pass(1s);
  agent.Restart(1h);
  EXPECT_EQ(agent.BeatOf(), Health::kCritical);
  agent.Report();
  agent.Pass(1s);
  EXPECT_EQ(agent.BeatOf(), Health::kPassing);
  agent.End();
}

}  // namespace
}  // namespace kvorum::sync
