#include "rpc/io/session_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace kvorum::rpc {
namespace {

struct Block {
  unsigned char* bytes;
  std::size_t size;
  unsigned char mark;

  bool IsIntact() const {
    return std::all_of(bytes, bytes + size, [this](unsigned char byte) { return byte == mark; });
  }
};

constexpr std::size_t kRegionBytes = std::size_t{256} << 10;

// Blocks of a random size, each filled with its mark, so that two that overlap are noticed.
class SessionMemoryTest : public testing::Test {
 protected:
  ~SessionMemoryTest() override {
    for (const Block& block : blocks_) memory_.Give(block.bytes);
  }

  void Add(void* bytes, std::size_t size) {
    ASSERT_NE(bytes, nullptr);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % alignof(std::max_align_t), 0U);
    const Block block{.bytes = static_cast<unsigned char*>(bytes),
                      .size = size,
                      .mark = static_cast<unsigned char>(rng_.Below(256))};
    std::memset(block.bytes, block.mark, block.size);
    blocks_.push_back(block);
  }
  Block Draw() {
    std::swap(blocks_[rng_.Below(blocks_.size())], blocks_.back());
    const Block block = blocks_.back();
    blocks_.pop_back();
    return block;
  }

  Rng rng_{1};
  SessionMemory memory_{kRegionBytes};
  std::vector<Block> blocks_;
};

TEST_F(SessionMemoryTest, BlocksAreTheirOwnersAlone) {
  constexpr std::size_t kMostBytes = 700;  // some beyond what the region serves
  for (int step = 0; step < 50'000; ++step) {
    const std::size_t size = 1 + rng_.Below(kMostBytes);
    // More blocks than the region holds, and few again.
    const bool grows = (step / 10'000) % 2 == 0;
    if (blocks_.empty() || (grows && rng_.OneIn(2))) {
      Add(memory_.Take(size), size);
    } else if (rng_.OneIn(3)) {
      const Block old = Draw();
      ASSERT_TRUE(old.IsIntact());
      auto* const resized = static_cast<unsigned char*>(memory_.Resize(old.bytes, size));
      ASSERT_NE(resized, nullptr);
      const Block kept{.bytes = resized, .size = std::min(old.size, size), .mark = old.mark};
      ASSERT_TRUE(kept.IsIntact());
      Add(resized, size);
    } else {
      const Block old = Draw();
      ASSERT_TRUE(old.IsIntact());
      memory_.Give(old.bytes);
      if (grows) Add(memory_.Take(size), size);
    }
  }
}

TEST_F(SessionMemoryTest, AFullRegionIsGoneOnWithoutIt) {
  for (std::size_t taken = 0; taken < 3 * kRegionBytes; taken += 256) Add(memory_.Take(256), 256);
  while (!blocks_.empty()) {
    const Block block = Draw();
    ASSERT_TRUE(block.IsIntact());
    memory_.Give(block.bytes);
  }
}

TEST_F(SessionMemoryTest, ABlockIsUsedAgain) {
  std::set<void*> seen;
  for (int round = 0; round < 100; ++round) {
    void* const block = memory_.Take(200);
    seen.insert(block);
    memory_.Give(block);
  }
  EXPECT_EQ(seen.size(), 1U);
}

TEST_F(SessionMemoryTest, ZeroesAreZeroesInAUsedBlockToo) {
  void* const used = memory_.Take(96);
  std::memset(used, 0xff, 96);
  memory_.Give(used);
  auto* const block = static_cast<unsigned char*>(memory_.TakeZeroed(12, 8));
  EXPECT_TRUE(std::all_of(block, block + 96, [](unsigned char byte) { return byte == 0; }));
  memory_.Give(block);
}

TEST_F(SessionMemoryTest, MoreThanThereIsIsNull) {
  EXPECT_EQ(memory_.TakeZeroed(std::numeric_limits<std::size_t>::max() / 2, 4), nullptr);
}

TEST_F(SessionMemoryTest, NullAndNothingAreTakenAsByMalloc) {
  memory_.Give(nullptr);
  memory_.Give(memory_.Take(0));
  void* const block = memory_.Resize(nullptr, 10);
  EXPECT_NE(block, nullptr);
  memory_.Give(block);
}

}  // namespace
}  // namespace kvorum::rpc
