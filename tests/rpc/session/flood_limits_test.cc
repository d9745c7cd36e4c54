#include "rpc/session/flood_limits.h"

#include <gtest/gtest.h>

#include "rpc/server/server.h"

namespace kvorum::rpc {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class FloodLimitsTest : public testing::Test {
 protected:
  FloodLimitsTest() {
    options_.min_client_ping_interval = seconds(5);
    options_.reset_burst = 3;
    options_.resets_per_second = 2;
  }
  // Resets at once that are allowed.
  int Resets() {
    int allowed = 0;
    while (floods_.AllowReset(now_)) ++allowed;
    return allowed;
  }

  Options options_;
  TimePoint now_{1'000'000'000};
  FloodLimits floods_{options_, now_};
};

TEST_F(FloodLimitsTest, TheThirdPingTooSoonIsRefused) {
  EXPECT_TRUE(floods_.AllowPing(now_, /*idle=*/false)) << "the first is in time";
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(floods_.AllowPing(now_, false));
  EXPECT_FALSE(floods_.AllowPing(now_, false));
}

TEST_F(FloodLimitsTest, APingIsFreeAfterSomethingWasSent) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(floods_.AllowPing(now_, false));
    EXPECT_TRUE(floods_.AllowPing(now_, false));
    floods_.OnSent();
  }
}

TEST_F(FloodLimitsTest, AnIdleClientPingsEveryTwoHours) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(floods_.AllowPing(now_, true));
    now_ = now_ + hours(2);
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(floods_.AllowPing(now_, true));
  EXPECT_FALSE(floods_.AllowPing(now_ + seconds(5), true));
}

TEST_F(FloodLimitsTest, OrAsOftenAsAnyWherePermitted) {
  options_.permit_pings_without_streams = true;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(floods_.AllowPing(now_, true));
    now_ = now_ + seconds(5);
  }
}

TEST_F(FloodLimitsTest, ResetsComeBackWithTimeUpToTheBurst) {
  EXPECT_EQ(Resets(), 3);
  now_ = now_ + seconds(100);
  EXPECT_EQ(Resets(), 3);
  now_ = now_ + milliseconds(1500);  // three more, less the one that was refused
  EXPECT_EQ(Resets(), 2);
}

}  // namespace
}  // namespace kvorum::rpc
