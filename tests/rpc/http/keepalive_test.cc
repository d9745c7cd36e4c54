#include "rpc/http/keepalive.h"

#include <gtest/gtest.h>

namespace kvorum::rpc {
namespace {

using std::chrono::seconds;
using Action = Keepalive::Action;

constexpr TimePoint kStart{1'000'000'000};

TEST(KeepaliveTest, ASilentClientIsPingedThenGivenUp) {
  Keepalive keepalive(seconds(10), seconds(3), kStart);
  EXPECT_EQ(keepalive.next(), kStart + seconds(10));
  EXPECT_EQ(keepalive.OnTimer(kStart + seconds(10)), Action::kPing);
  EXPECT_EQ(keepalive.next(), kStart + seconds(13));
  EXPECT_EQ(keepalive.OnTimer(kStart + seconds(13)), Action::kGiveUp);
}

TEST(KeepaliveTest, AnyInputAnswersThePing) {
  Keepalive keepalive(seconds(10), seconds(3), kStart);
  EXPECT_EQ(keepalive.OnTimer(kStart + seconds(10)), Action::kPing);
  keepalive.OnInput(kStart + seconds(11));
  EXPECT_EQ(keepalive.OnTimer(kStart + seconds(13)), Action::kWait);
  EXPECT_EQ(keepalive.next(), kStart + seconds(21));
}

TEST(KeepaliveTest, InputDelaysThePing) {
  Keepalive keepalive(seconds(10), seconds(3), kStart);
  keepalive.OnInput(kStart + seconds(4));
  EXPECT_EQ(keepalive.OnTimer(kStart + seconds(10)), Action::kWait);
  EXPECT_EQ(keepalive.next(), kStart + seconds(14));
  EXPECT_EQ(keepalive.OnTimer(kStart + seconds(14)), Action::kPing);
}

}  // namespace
}  // namespace kvorum::rpc
