// The behaviours W1 to W5 and W17 of docs/sync_behaviours.md, of the state machine alone.
#include "sync/informer/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr TimePoint kStart{5'000'000'000};

class SyncWatchdog : public testing::Test {
 protected:
  // The pass that is begun at this time after the start; it succeeds.
  std::optional<Watchdog::Pass> PassAt(Duration after, bool succeeds = true) {
    auto pass = watchdog.Step(kStart + after);
    if (pass) watchdog.Finish(succeeds);
    return pass;
  }
  Rng rng{1};
  Watchdog watchdog{{"dp", "mesh", "zone"}, {}, kStart, rng};
};

TEST_F(SyncWatchdog, W1_TheFirstFlushIsAllTypesForAResync) {
  const auto pass = PassAt(0s);
  ASSERT_TRUE(pass);
  EXPECT_THAT(pass->types, ElementsAre("dp", "mesh", "zone"));
  EXPECT_EQ(PassReasonName(pass->reason), "resync");
}

TEST_F(SyncWatchdog, W2_EventsBetweenTicksAreOnePassOfTheirTypes) {
  PassAt(0s);
  watchdog.Changed("zone", kStart + 4100ms);
  watchdog.Changed("dp", kStart + 4200ms);
  watchdog.Changed("zone", kStart + 4300ms);
  watchdog.Changed("unknown", kStart + 4300ms);
  EXPECT_EQ(watchdog.due(), kStart + 5s);
  EXPECT_FALSE(PassAt(4999ms));
  const auto pass = PassAt(5s);
  ASSERT_TRUE(pass);
  EXPECT_THAT(pass->types, ElementsAre("dp", "zone"));
  EXPECT_EQ(PassReasonName(pass->reason), "event");
}

TEST_F(SyncWatchdog, W3_NothingChangedIsNoPass) {
  PassAt(0s);
  for (Duration after = 1s; after < 60s; after += 1s) EXPECT_FALSE(PassAt(after));
  EXPECT_EQ(watchdog.due(), kStart + 60s);
}

TEST_F(SyncWatchdog, W4_AFullTickAndAnEventAreOnePassOfAllTypes) {
  PassAt(0s);
  watchdog.Changed("dp", kStart + 59'500ms);
  const auto pass = PassAt(60s);
  ASSERT_TRUE(pass);
  EXPECT_THAT(pass->types, ElementsAre("dp", "mesh", "zone"));
  EXPECT_EQ(PassReasonName(pass->reason), "event_and_resync");
}

TEST_F(SyncWatchdog, W5_AFailedPassIsDoneAgainWithWhatChangedMeanwhile) {
  PassAt(0s);
  watchdog.Changed("dp", kStart + 500ms);
  ASSERT_TRUE(watchdog.Step(kStart + 1s));
  watchdog.Changed("mesh", kStart + 1100ms);
  EXPECT_FALSE(watchdog.Step(kStart + 2s)) << "one is under way";
  watchdog.Finish(false);
  const auto again = PassAt(3s);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->types, ElementsAre("dp", "mesh"));
  EXPECT_EQ(PassReasonName(again->reason), "event");
  EXPECT_FALSE(PassAt(4s)) << "it succeeded";
}

TEST_F(SyncWatchdog, W5_AFailedResyncKeepsItsReason) {
  PassAt(0s, false);
  watchdog.Changed("dp", kStart + 500ms);
  const auto again = PassAt(1s);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->types, ElementsAre("dp", "mesh", "zone"));
  EXPECT_EQ(PassReasonName(again->reason), "event_and_resync");
}

// When full passes begin, within ten minutes.
std::vector<Duration> FullPasses(bool spreads, std::uint64_t seed) {
  Rng rng(seed);
  Watchdog watchdog({"dp"}, {.spreads_first_full = spreads}, kStart, rng);
  std::vector<Duration> times;
  for (Duration after = 0s; after < 10min; after += 100ms) {
    if (!watchdog.Step(kStart + after)) continue;
    watchdog.Finish(true);
    if (after > 0s) times.push_back(after);
  }
  return times;
}

TEST(SyncWatchdogSpread, W17_TheFirstFullPassSpreadsAndLaterOnesKeepTheInterval) {
  std::set<Duration> firsts;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto times = FullPasses(true, seed);
    ASSERT_GE(times.size(), 8U);
    EXPECT_GE(times.front(), 60s);
    EXPECT_LE(times.front(), 121s) << "the flush tick after it";
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i] - times[i - 1], 60s);
    firsts.insert(times.front());
  }
  EXPECT_GT(firsts.size(), 10U);
  EXPECT_EQ(FullPasses(false, 1).front(), 60s);
}

TEST(SyncWatchdogZero, AFullIntervalOfZeroIsNever) {
  Rng rng(1);
  Watchdog watchdog({"dp", "mesh"}, {.full_interval = 0s, .spreads_first_full = true}, kStart, rng);
  ASSERT_TRUE(watchdog.Step(kStart));
  watchdog.Finish(true);
  EXPECT_EQ(watchdog.due(), kNever);
  watchdog.Changed("dp", kStart + 1h);
  const auto pass = watchdog.Step(kStart + 2h);
  ASSERT_TRUE(pass);
  EXPECT_THAT(pass->types, ElementsAre("dp"));
}

TEST(SyncWatchdogZero, AFlushIntervalOfZeroIsTheFirstPassAlone) {
  Rng rng(1);
  Watchdog watchdog({"dp", "mesh"}, {.flush_interval = 0s}, kStart, rng);
  ASSERT_TRUE(watchdog.Step(kStart));
  watchdog.Finish(true);
  watchdog.Changed("dp", kStart + 1s);
  EXPECT_FALSE(watchdog.Step(kStart + 2s));
  EXPECT_EQ(watchdog.due(), kStart + 60s);
  EXPECT_FALSE(watchdog.Step(kStart + 1h));
}

}  // namespace
}  // namespace kvorum::sync
