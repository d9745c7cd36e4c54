#include "sync/store/watch_window.h"

#include <gtest/gtest.h>

namespace kvorum::sync {
namespace {

TEST(SyncWatchWindow, BatchesAreBoundedInNumber) {
  WatchWindow window;
  for (int i = 0; i < kWatchWindow; ++i) {
    EXPECT_TRUE(window.has_room());
    window.Add(1);
  }
  EXPECT_FALSE(window.has_room());
  window.Take();
  EXPECT_TRUE(window.has_room());
}

TEST(SyncWatchWindow, BatchesAreBoundedInBytesAndALargeOneGoesAlone) {
  WatchWindow window;
  window.Add(2 * kWatchWindowBytes);
  EXPECT_FALSE(window.has_room());
  window.Take();
  EXPECT_TRUE(window.has_room());
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(window.has_room());
    window.Add(kWatchWindowBytes / 4);
  }
  EXPECT_FALSE(window.has_room());
  window.Take();
  EXPECT_TRUE(window.has_room());
}

}  // namespace
}  // namespace kvorum::sync
