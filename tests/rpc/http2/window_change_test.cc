#include "rpc/http2/window_change.h"

#include <gtest/gtest.h>

namespace kvorum::rpc {
namespace {

constexpr std::uint32_t kMax = 0x7fffffff;

TEST(WindowChangeTest, NoStreamsWindowMayExceedTheMost) {
  WindowChange change;
  change.Begin(65'535);
  EXPECT_TRUE(change.Fits(kMax));
  change.Add(100'000);
  change.Add(-5);
  EXPECT_TRUE(change.Fits(kMax - 34'465));
  EXPECT_FALSE(change.Fits(kMax - 34'464));
  EXPECT_TRUE(change.Fits(0));
}

TEST(WindowChangeTest, EachChangeStartsAnew) {
  WindowChange change;
  change.Begin(65'535);
  change.Add(0x7fffffff);
  EXPECT_FALSE(change.Fits(65'536));
  change.Begin(65'535);
  EXPECT_TRUE(change.Fits(65'536));
}

}  // namespace
}  // namespace kvorum::rpc
