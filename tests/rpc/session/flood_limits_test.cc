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
  static Options SmallLimits() {
    Options options;
    options.min_client_ping_interval = seconds(5);
    options.reset_burst = 3;
    options.resets_per_second = 2;
    options.frame_burst = 100;
    options.frames_per_second = 10;
    options.frames_per_message = 32;
    options.frames_per_kib = 4;
    return options;
  }
  // Frames, an input each, that are allowed at once.
  int Frames() {
    int allowed = 0;
    for (; allowed < 100'000; ++allowed) {
      floods_.OnFrames(1);
      if (!floods_.AllowFrames(now_)) break;
    }
    return allowed;
  }
  // Resets at once that are allowed.
  int Resets() {
    int allowed = 0;
    while (floods_.AllowReset(now_)) ++allowed;
    return allowed;
  }

  Options options_ = SmallLimits();
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

TEST_F(FloodLimitsTest, FramesComeBackWithTimeUpToTheBurst) {
  EXPECT_EQ(Frames(), 100);
  now_ = now_ + seconds(1000);
  EXPECT_TRUE(floods_.AllowFrames(now_));
  EXPECT_EQ(Frames(), 100);
  now_ = now_ + seconds(1);  // ten more, less the one that was refused
  EXPECT_EQ(Frames(), 9);
}

TEST_F(FloodLimitsTest, FramesComeBackWithWhatIsSentUpToTenBursts) {
  EXPECT_EQ(Frames(), 100);
  floods_.OnCall();
  floods_.OnMessagesSent(2);
  floods_.OnBytesSent(1024);
  EXPECT_EQ(Frames(), 3 * 32 + 4 - 1);
  floods_.OnMessagesSent(1'000'000);
  EXPECT_TRUE(floods_.AllowFrames(now_));
  EXPECT_EQ(Frames(), 1000);
}

// A client that lets a large answer out byte by byte (CVE-2019-9511).
TEST_F(FloodLimitsTest, BytesSentOneByOnePayForNoFrames) {
  int updates = 0;
  for (; updates < 100'000; ++updates) {
    floods_.OnFrames(1);
    floods_.OnBytesSent(1);
    if (!floods_.AllowFrames(now_)) break;
  }
  EXPECT_LT(updates, 102);
}

TEST_F(FloodLimitsTest, DataPaysForItsFrameUnlessItIsLessThanAMessage) {
  for (int i = 0; i < 100'000; ++i) {
    floods_.OnFrames(1);
    floods_.OnData(5);
    ASSERT_TRUE(floods_.AllowFrames(now_));
  }
  int small = 0;
  for (; small < 100'000; ++small) {
    floods_.OnFrames(1);
    floods_.OnData(1);
    if (!floods_.AllowFrames(now_)) break;
  }
  EXPECT_LT(small, 2'000);
}

}  // namespace
}  // namespace kvorum::rpc
