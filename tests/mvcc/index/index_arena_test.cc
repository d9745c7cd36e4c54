// Blocks of all sizes from the index's arena.
#include "mvcc/index/index_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/rng.h"

namespace kvorum::mvcc::index {
namespace {

TEST(IndexArena, BlocksAreAlignedApartAndHoldTheirBytes) {
  Arena arena;
  struct Block {
    char* data;
    std::size_t size;
    char fill;
  };
  std::vector<Block> blocks;
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    if (!blocks.empty() && rng.OneIn(3)) {
      const std::size_t at = rng.Below(blocks.size());
      const Block block = blocks[at];
      for (std::size_t byte = 0; byte < block.size; ++byte) {
        ASSERT_EQ(block.data[byte], block.fill);
      }
      arena.Free(block.data, block.size);
      blocks[at] = blocks.back();
      blocks.pop_back();
      continue;
    }
    const std::size_t size = 1 + rng.Below(rng.OneIn(20) ? 10'000 : 300);
    Block block{static_cast<char*>(arena.Allocate(size)), size, static_cast<char>(i)};
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 8, 0U);
    std::memset(block.data, block.fill, size);
    blocks.push_back(block);
  }
  for (const Block& block : blocks) arena.Free(block.data, block.size);
  EXPECT_EQ(arena.bytes_in_use(), 0U);
}

TEST(IndexArena, ABlockCostsItsSizeRoundedUpToEight) {
  Arena arena;
  for (std::size_t size = 1; size <= 1024; ++size) {
    const std::size_t before = arena.bytes_in_use();
    arena.Allocate(size);
    EXPECT_EQ(arena.bytes_in_use() - before, (size + 7) / 8 * 8);
  }
}

TEST(IndexArena, FreedMemoryIsUsedAgainForOtherSizes) {
  Arena arena;
  std::size_t peak = 0;
  for (const std::size_t size : {40U, 48U, 784U, 4096U, 16U}) {
    std::vector<void*> blocks;
    for (std::size_t bytes = 0; bytes < 10'000'000; bytes += size) {
      blocks.push_back(arena.Allocate(size));
    }
    peak = std::max(peak, arena.bytes_reserved());
    for (void* block : blocks) arena.Free(block, size);
  }
  EXPECT_LT(peak, 12'000'000U);
  EXPECT_EQ(arena.bytes_in_use(), 0U);
  // All but a little has gone back to the system.
  EXPECT_LE(arena.bytes_reserved(), 3'000'000U);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(IndexArena, UsingAFreedBlockIsSeenByTheSanitizer) {
  Arena arena;
  auto* block = static_cast<volatile char*>(arena.Allocate(64));
  arena.Free(const_cast<char*>(block), 64);
  EXPECT_DEATH(block[8] = 1, "use-after-poison");
}
#endif

}  // namespace
}  // namespace kvorum::mvcc::index
