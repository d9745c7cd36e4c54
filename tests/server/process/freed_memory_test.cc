// When freed memory is given back to the system.
#include "server/process/machine/freed_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/replica/lanes.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kMuch = FreedMemory::kMuchBytes;

struct World {
  std::size_t peak = 0;
  std::size_t used = 0;
  std::uint64_t closed = 0;
  std::size_t resident = 10 * kMuch;
  std::size_t needed = 10 * kMuch;  // the memory left after a trim
  int trims = 0;

  FreedMemory::Parts Parts() {
    return {.take_peak_bytes = [this] { return std::exchange(peak, used); },
            .used_bytes = [this] { return used; },
            .closed_connections = [this] { return closed; },
            .resident_bytes = [this] { return resident; },
            .trim =
                [this] {
                  ++trims;
                  resident = needed;
                }};
  }
};

class FreedMemoryTest : public testing::Test {
 protected:
  FreedMemoryTest() { freed_.Start(); }

  World world_;
  Lanes lanes_{1};
  FreedMemory freed_{lanes_.io(), world_.Parts()};
};

TEST_F(FreedMemoryTest, NothingIsDoneWhereNothingWasFreed) {
  EXPECT_FALSE(freed_.Look());
  world_.resident += 5 * kMuch;  // it grew, and no connection ended
  EXPECT_FALSE(freed_.Look());
  world_.closed = 1;
  EXPECT_TRUE(freed_.Look());
  EXPECT_FALSE(freed_.Look());
  world_.closed = 2;
  EXPECT_FALSE(freed_.Look()) << "somebody left who held nothing";
}

TEST_F(FreedMemoryTest, AnswersThatWentAreTrimmedOnce) {
  world_.peak = world_.used = 2 * kMuch;
  EXPECT_FALSE(freed_.Look()) << "they are still there";
  world_.used = kMuch / 2;
  EXPECT_TRUE(freed_.Look());
  EXPECT_FALSE(freed_.Look());
}

// Memory that was in use at the last check is not when its connections go.
TEST_F(FreedMemoryTest, MemoryThatConnectionsHeldIsTrimmedWhenTheyGo) {
  world_.resident = world_.needed = 14 * kMuch;
  world_.closed = 1;
  EXPECT_TRUE(freed_.Look());
  world_.resident = 12 * kMuch;  // some of it was returned without a trim
  EXPECT_FALSE(freed_.Look());
  world_.resident = 13 * kMuch;
  world_.needed = 10 * kMuch;
  world_.closed = 2;
  EXPECT_TRUE(freed_.Look());
  EXPECT_EQ(world_.resident, 10 * kMuch);
}

// Events that a watch had kept go when the next ones push them out, a request at work elsewhere
// when that is done.
TEST_F(FreedMemoryTest, WhatIsFreedAfterItsConnectionsIsTrimmedAWhileLater) {
  world_.resident = world_.needed = 14 * kMuch;
  world_.closed = 1;
  EXPECT_TRUE(freed_.Look()) << "too early";
  world_.needed = 10 * kMuch;
  int looks = 0;
  while (!freed_.Look()) ASSERT_LT(++looks, FreedMemory::kLooksToNext);
  EXPECT_EQ(world_.resident, 10 * kMuch);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(freed_.Look());
}

TEST_F(FreedMemoryTest, ItLooksByItself) {
  world_.peak = 2 * kMuch;
  lanes_.RunFor(2 * FreedMemory::kInterval);
  EXPECT_EQ(world_.trims, 1);
}

// The sanitizers have an allocator of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In a separate process: the setting is for all of it.
TEST(BoundHeapEndsTest, WhatAnyThreadHasFreedIsGivenBack) {
  const auto kept_bytes = [] {
    BoundHeapEnds();
    const std::size_t before = ResidentAnonymousBytes();
    std::thread([] {
      // The allocator learns from the largest blocks how much it may keep.
      std::make_unique<std::string>(std::size_t{30} << 20, 'x').reset();
      std::vector<std::string> blocks(48);
      for (std::string& block : blocks) block.assign(std::size_t{1} << 20, 'x');
    }).join();
    TrimHeaps();
    const std::size_t after = ResidentAnonymousBytes();
    return after > before ? after - before : 0;
  };
  EXPECT_EXIT(std::exit(kept_bytes() < (std::size_t{12} << 20) ? 0 : 1), testing::ExitedWithCode(0),
              "");
}
#endif

}  // namespace
}  // namespace kvorum::server
