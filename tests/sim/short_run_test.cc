// A few runs of the simulation under the sanitizers, and its own parts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/simulation.h"
#include "tests/sim/world/lane.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ShortRun : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ShortRun, EndsWell) {
  const Options options{.seed = GetParam(), .members = MembersOf(GetParam()), .seconds = 30};
  const Report report = RunSimulation(options);
  EXPECT_FALSE(report.failure.has_value()) << report.tail << "\n"
                                           << report.failure.value_or("") << "\n"
                                           << ReplayCommand(options);
  EXPECT_GT(report.revisions, 1);
}

TEST(ShortRun, OfAgentsAndCachesEndsWell) {
  const Options options{.seed = 2009, .members = MembersOf(2009), .seconds = 30, .copies = true};
  const Report report = RunSimulation(options);
  EXPECT_FALSE(report.failure.has_value()) << report.tail << "\n"
                                           << report.failure.value_or("") << "\n"
                                           << ReplayCommand(options);
  EXPECT_GT(report.faults[Fault::kCacheAsked], 0U);
}

// A member with a spoiled record is found out and re-seeded, though its new database is on its way
// for longer than 20 s, after which it asks again. Even seeds have such transfers, where a re-seed
// meets one; which of them it does depends on the compiler.
TEST(ShortRun, OfSpoiledRecordsIsMendedByLongTransfers) {
  std::uint64_t mended = 0;
  std::uint64_t long_transfers = 0;
  for (std::uint64_t seed = 2010; long_transfers == 0 && seed < 2040; seed += 2) {
    const Options options{.seed = seed, .members = 3, .seconds = 90, .spoils = true};
    const Report report = RunSimulation(options);
    ASSERT_FALSE(report.failure.has_value()) << report.tail << "\n"
                                             << report.failure.value_or("") << "\n"
                                             << ReplayCommand(options);
    mended += report.mended;
    long_transfers += report.faults[Fault::kTransferLong];
  }
  EXPECT_GT(mended, 0U);
  EXPECT_GT(long_transfers, 0U);
}

// Members come back with older disks or empty ones, under their old identity.
TEST(ShortRun, OfReplacedDisksLosesNothing) {
  FaultCounters faults;
  for (std::uint64_t seed = 2001; seed <= 2004; ++seed) {
    const Options options{
        .seed = seed, .members = MembersOf(seed), .seconds = 30, .replaced_disks = true};
    const Report report = RunSimulation(options);
    ASSERT_FALSE(report.failure.has_value()) << report.tail << "\n"
                                             << report.failure.value_or("") << "\n"
                                             << ReplayCommand(options);
    faults.Merge(report.faults);
  }
  EXPECT_GT(faults[Fault::kDiskReplaced], 0U);
  EXPECT_GT(faults[Fault::kDiskWiped], 0U);
  EXPECT_GT(faults[Fault::kLossTold], 0U);
  EXPECT_GT(faults[Fault::kLossMadeGood], 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ShortRun, testing::Range<std::uint64_t>(2001, 2009));

TEST(Scheduler, RunsInTheOrderOfTimeAndThenOfAsking) {
  Scheduler scheduler(1);
  std::string order;
  const TimePoint now = scheduler.Now();
  scheduler.At(now + milliseconds(2), [&] { order += "c"; });
  scheduler.At(now + milliseconds(1), [&] { order += "a"; });
  scheduler.At(now + milliseconds(1), [&] { order += "b"; });
  while (scheduler.Step()) {
  }
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(scheduler.Now(), now + milliseconds(2));
}

TEST(DriftingClock, RunsFasterAndNeverBack) {
  Scheduler scheduler(1);
  DriftingClock clock(scheduler);
  const TimePoint begin = clock.Now();
  clock.SetRate(2 * DriftingClock::kExact);
  const Duration until = clock.TrueTime(begin + seconds(2)) - scheduler.Now();
  EXPECT_GE(until, seconds(1));
  EXPECT_LE(until, seconds(1) + Duration(10));
  scheduler.After(seconds(1), [] {});
  ASSERT_TRUE(scheduler.Step());
  EXPECT_EQ(clock.Now(), begin + seconds(2));
  const std::int64_t wall = clock.WallNanos();
  clock.JumpWall(-seconds(60));
  EXPECT_EQ(clock.WallNanos(), wall - 60'000'000'000);
  EXPECT_EQ(clock.Now(), begin + seconds(2));
}

struct LaneFixture : testing::Test {
  Scheduler scheduler{7};
  DriftingClock clock{scheduler};
  std::shared_ptr<Lane> lane = std::make_shared<Lane>(
      scheduler, clock,
      Lane::Options{.least = milliseconds(1), .most = milliseconds(2), .stalled = milliseconds(3)},
      [] {});
};

TEST_F(LaneFixture, RunsItsTasksInOrderAndTakesItsTime) {
  std::vector<int> order;
  const TimePoint begin = scheduler.Now();
  for (int i = 0; i < 5; ++i) lane->Post([&order, i] { order.push_back(i); });
  while (scheduler.Step()) {
  }
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
  EXPECT_GE(scheduler.Now() - begin, milliseconds(5));
}

TEST_F(LaneFixture, HeldRunsNothing) {
  bool ran = false;
  lane->Post([&] { ran = true; });
  lane->HoldUntil(scheduler.Now() + seconds(1));
  while (!ran && scheduler.Step()) {
  }
  EXPECT_TRUE(ran);
  EXPECT_GE(scheduler.Now() - TimePoint{}, seconds(2));
}

TEST_F(LaneFixture, StoppedDropsWhatWaitsAndWhatComes) {
  bool ran = false;
  lane->Post([&] { ran = true; });
  lane->PostAt(clock.Now() + milliseconds(5), [&] { ran = true; });
  lane->Stop();
  lane->Post([&] { ran = true; });
  while (scheduler.Step()) {
  }
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace kvorum::sim
