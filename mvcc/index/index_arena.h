// Memory for the key index's entries and nodes: millions of small blocks of one owner.
//
// A block costs its size rounded up to 8 bytes and nothing else, where malloc takes 8 bytes more
// and rounds to 16: with a bound of 64 bytes per key that matters. Blocks of one size share slabs
// of 64 KiB; an empty slab is used for another size, an empty region is returned to the system.
// Regions have 1 MiB at first, and 2 MiB, one huge page where the system has them, once the
// rounding is small in comparison. Blocks above kLargestSlabBlockBytes come from operator new.
//
// Used by one thread. Freed blocks are poisoned for the address sanitizer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mvcc/records/mapped_memory.h"

namespace kvorum::mvcc::index {

class Arena {
 public:
  Arena() = default;
  ~Arena();  // frees all memory, including blocks that were not freed
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Aligned to 8 bytes. O(1).
  void* Allocate(std::size_t size_bytes);
  // size_bytes as it was requested. O(1).
  void Free(void* block, std::size_t size_bytes);

  // The size of live blocks, including rounding.
  std::size_t bytes_in_use() const { return bytes_in_use_; }
  // The memory taken from the system.
  std::size_t bytes_reserved() const { return bytes_reserved_; }

  static constexpr std::size_t kLargestSlabBlockBytes = 4096;

 private:
  static constexpr std::size_t kSlabBytes = 64 * 1024;
  static constexpr std::size_t kSmallRegionBytes = 1024 * 1024;
  static constexpr std::size_t kHugeRegionBytes = 2 * 1024 * 1024;
  static constexpr std::size_t kSmallUpToBytes = 32 * 1024 * 1024;  // of bytes_reserved
  // Sizes up to kFineBytes come in steps of 8 bytes, those above in steps of kCoarseStepBytes.
  static constexpr std::size_t kFineBytes = 1024;
  static constexpr std::size_t kCoarseStepBytes = 128;
  static constexpr std::size_t kClasses =
      kFineBytes / 8 + (kLargestSlabBlockBytes - kFineBytes) / kCoarseStepBytes;

  struct FreeBlock {
    FreeBlock* next;
  };
  struct Slab {
    Slab* previous;  // in the list of its class's slabs with room, or of the empty slabs
    Slab* next;
    FreeBlock* freed;
    std::uint32_t untouched_offset;  // blocks from here on were never handed out
    std::uint32_t used_blocks;
    std::uint32_t block_bytes;
    std::uint32_t region;
  };
  struct Region {
    MappedMemory memory;
    std::uint32_t slabs_in_use = 0;
  };
  struct Large {
    Large* previous;
    Large* next;
  };

  static std::size_t ClassOf(std::size_t size_bytes);
  static std::size_t BlockBytes(std::size_t size_class);
  static bool HasRoom(const Slab& slab);
  static void Link(Slab*& list, Slab* slab);
  static void Unlink(Slab*& list, Slab* slab);

  Slab* TakeSlab(std::size_t size_class);
  void GiveSlabBack(Slab* slab);
  void AddRegion();
  void* AllocateLarge(std::size_t size_bytes);
  void FreeLarge(void* block, std::size_t size_bytes);

  std::array<Slab*, kClasses> with_room_{};
  Slab* empty_ = nullptr;
  std::vector<Region> regions_;                // freed ones keep their place, without memory
  std::vector<std::uint32_t> unused_regions_;  // places in regions_ to be reused
  Large* large_ = nullptr;
  std::size_t bytes_in_use_ = 0;
  std::size_t bytes_reserved_ = 0;
};

}  // namespace kvorum::mvcc::index
