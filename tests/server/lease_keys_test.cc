// The keys of a lease as they are visited beside the apply executor: in parts, without the lock.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "server/state/leases.h"
#include "tests/manual_clock.h"

namespace kvorum::server {
namespace {

class LeaseKeysTest : public testing::Test {
 protected:
  static constexpr lease::LeaseId kLease = 7;
  static constexpr lease::LeaseId kOther = 8;

  LeaseKeysTest() {
    EXPECT_TRUE(leases_.Grant(kLease, 100));
    EXPECT_TRUE(leases_.Grant(kOther, 100));
    for (int i = 0; i < 1000; ++i) leases_.Attach(Key(i), kLease);
  }
  static std::string Key(int i) { return "key" + std::to_string(i); }

  ManualClock clock_;
  Leases leases_{{.min_ttl_s = 1}, clock_};
};

TEST_F(LeaseKeysTest, AllAreVisitedUntilAVisitorHasSeenEnough) {
  std::set<std::string> seen;
  EXPECT_TRUE(leases_.VisitKeysOf(kLease, [&](std::string_view key) {
    return seen.emplace(key).second;
  })) << "each once";
  EXPECT_EQ(seen.size(), 1000U);
  int visits = 0;
  EXPECT_FALSE(leases_.VisitKeysOf(kLease, [&](std::string_view) { return ++visits < 200; }));
  EXPECT_EQ(visits, 200);
  EXPECT_TRUE(leases_.VisitKeysOf(kOther, [](std::string_view) { return false; }));
  EXPECT_TRUE(leases_.VisitKeysOf(99, [](std::string_view) { return false; }));
}

// The visitor may do what needs the lock: nothing is held while it runs.
TEST_F(LeaseKeysTest, NoneIsLeftOutThatStaysWhileOthersComeAndGo) {
  std::set<std::string> seen;
  int visits = 0;
  EXPECT_TRUE(leases_.VisitKeysOf(kLease, [&](std::string_view key) {
    seen.emplace(key);
    if (++visits % 50 != 0) return true;
    leases_.Attach(Key(5000 + visits), kLease);
    leases_.Attach(Key(visits % 97), kOther);
    return true;
  }));
  for (int i = 97; i < 1000; ++i) EXPECT_TRUE(seen.contains(Key(i))) << i;
}

// Removing the key where each part ended only makes it begin again a few times.
TEST_F(LeaseKeysTest, KeysThatAlwaysLeaveAtTheWrongMomentDoNotKeepItGoing) {
  std::set<std::string> seen;
  int visits = 0;
  EXPECT_TRUE(leases_.VisitKeysOf(kLease, [&](std::string_view key) {
    seen.emplace(key);
    if (++visits % static_cast<int>(Leases::kKeysAtOnce) == 0)
      leases_.Attach(std::string(key), kOther);
    return true;
  }));
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_LT(visits, 5000);
}

TEST_F(LeaseKeysTest, ALeaseThatEndsMeanwhileHasNoMore) {
  int visits = 0;
  EXPECT_TRUE(leases_.VisitKeysOf(kLease, [&](std::string_view) {
    if (++visits == 1) leases_.Revoke(kLease);
    return true;
  }));
  EXPECT_EQ(visits, static_cast<int>(Leases::kKeysAtOnce));
}

}  // namespace
}  // namespace kvorum::server
