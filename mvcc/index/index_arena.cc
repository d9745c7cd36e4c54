#include "mvcc/index/index_arena.h"

#include <algorithm>
#include <new>

#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define KV_POISON(address, size) ASAN_POISON_MEMORY_REGION(address, size)
#define KV_UNPOISON(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#else
#define KV_POISON(address, size) (static_cast<void>(address), static_cast<void>(size))
#define KV_UNPOISON(address, size) (static_cast<void>(address), static_cast<void>(size))
#endif

namespace kvorum::mvcc::index {

Arena::~Arena() {
  for (const Region& region : regions_) KV_UNPOISON(region.memory.data(), region.memory.size());
  while (large_ != nullptr) {
    Large* next = large_->next;
    ::operator delete(large_);
    large_ = next;
  }
}

void* Arena::Allocate(std::size_t size_bytes) {
  if (size_bytes > kLargestSlabBlockBytes) return AllocateLarge(size_bytes);
  const std::size_t size_class = ClassOf(size_bytes);
  Slab* slab = with_room_[size_class];
  if (slab == nullptr) slab = TakeSlab(size_class);
  void* block = nullptr;
  if (slab->freed != nullptr) {
    block = slab->freed;
    KV_UNPOISON(block, sizeof(FreeBlock));
    slab->freed = slab->freed->next;
  } else {
    block = reinterpret_cast<char*>(slab) + slab->untouched_offset;
    slab->untouched_offset += slab->block_bytes;
  }
  // For a small block at least the part that Free writes.
  KV_UNPOISON(block, std::max(size_bytes, sizeof(FreeBlock)));
  ++slab->used_blocks;
  if (!HasRoom(*slab)) Unlink(with_room_[size_class], slab);
  bytes_in_use_ += slab->block_bytes;
  return block;
}

void Arena::Free(void* block, std::size_t size_bytes) {
  if (size_bytes > kLargestSlabBlockBytes) {
    FreeLarge(block, size_bytes);
    return;
  }
  auto* slab = reinterpret_cast<Slab*>(reinterpret_cast<std::uintptr_t>(block) & ~(kSlabBytes - 1));
  Slab*& list = with_room_[ClassOf(size_bytes)];
  const bool was_full = !HasRoom(*slab);
  auto* freed = static_cast<FreeBlock*>(block);
  freed->next = slab->freed;
  slab->freed = freed;
  KV_POISON(block, slab->block_bytes);
  --slab->used_blocks;
  bytes_in_use_ -= slab->block_bytes;
  if (was_full) Link(list, slab);
  if (slab->used_blocks == 0) {
    Unlink(list, slab);
    GiveSlabBack(slab);
  }
}

std::size_t Arena::ClassOf(std::size_t size_bytes) {
  if (size_bytes <= 8) return 0;
  if (size_bytes <= kFineBytes) return (size_bytes - 1) / 8;
  return kFineBytes / 8 + (size_bytes - kFineBytes - 1) / kCoarseStepBytes;
}

std::size_t Arena::BlockBytes(std::size_t size_class) {
  constexpr std::size_t kFineClasses = kFineBytes / 8;
  if (size_class < kFineClasses) return (size_class + 1) * 8;
  return kFineBytes + (size_class - kFineClasses + 1) * kCoarseStepBytes;
}

bool Arena::HasRoom(const Slab& slab) {
  return slab.freed != nullptr || slab.untouched_offset + slab.block_bytes <= kSlabBytes;
}

void Arena::Link(Slab*& list, Slab* slab) {
  slab->previous = nullptr;
  slab->next = list;
  if (list != nullptr) list->previous = slab;
  list = slab;
}

void Arena::Unlink(Slab*& list, Slab* slab) {
  if (slab->previous != nullptr) {
    slab->previous->next = slab->next;
  } else {
    list = slab->next;
  }
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  slab->previous = nullptr;
  slab->next = nullptr;
}

Arena::Slab* Arena::TakeSlab(std::size_t size_class) {
  if (empty_ == nullptr) AddRegion();
  Slab* slab = empty_;
  Unlink(empty_, slab);
  ++regions_[slab->region].slabs_in_use;
  slab->freed = nullptr;
  slab->untouched_offset = sizeof(Slab);
  slab->used_blocks = 0;
  slab->block_bytes = static_cast<std::uint32_t>(BlockBytes(size_class));
  KV_POISON(slab + 1, kSlabBytes - sizeof(Slab));
  Link(with_room_[size_class], slab);
  return slab;
}

void Arena::GiveSlabBack(Slab* slab) {
  const std::uint32_t number = slab->region;
  Region& region = regions_[number];
  Link(empty_, slab);
  if (--region.slabs_in_use > 0) return;
  // The region is returned to the system, unless no empty slab would be left.
  const std::size_t region_bytes = region.memory.size();
  const std::size_t slabs = region_bytes / kSlabBytes;
  std::size_t empty_slabs = 0;
  for (Slab* other = empty_; other != nullptr && empty_slabs <= slabs; other = other->next) {
    ++empty_slabs;
  }
  if (empty_slabs <= slabs) return;
  for (std::size_t i = 0; i < slabs; ++i) {
    Unlink(empty_, reinterpret_cast<Slab*>(region.memory.data() + i * kSlabBytes));
  }
  KV_UNPOISON(region.memory.data(), region_bytes);
  region.memory = MappedMemory();
  unused_regions_.push_back(number);
  bytes_reserved_ -= region_bytes;
}

void Arena::AddRegion() {
  std::uint32_t number = 0;
  if (unused_regions_.empty()) {
    number = static_cast<std::uint32_t>(regions_.size());
    regions_.emplace_back();
  } else {
    number = unused_regions_.back();
    unused_regions_.pop_back();
  }
  const bool small = bytes_reserved_ < kSmallUpToBytes;
  const std::size_t bytes = small ? kSmallRegionBytes : kHugeRegionBytes;
  regions_[number] = {.memory = MappedMemory(bytes, small ? kSlabBytes : bytes), .slabs_in_use = 0};
  bytes_reserved_ += bytes;
  char* memory = regions_[number].memory.data();
  for (std::size_t offset = bytes; offset > 0; offset -= kSlabBytes) {
    auto* slab = new (memory + offset - kSlabBytes) Slab{};
    slab->region = number;
    Link(empty_, slab);
  }
}

void* Arena::AllocateLarge(std::size_t size_bytes) {
  auto* large = static_cast<Large*>(::operator new(sizeof(Large) + size_bytes));
  large->previous = nullptr;
  large->next = large_;
  if (large_ != nullptr) large_->previous = large;
  large_ = large;
  bytes_in_use_ += sizeof(Large) + size_bytes;
  bytes_reserved_ += sizeof(Large) + size_bytes;
  return large + 1;
}

void Arena::FreeLarge(void* block, std::size_t size_bytes) {
  Large* large = static_cast<Large*>(block) - 1;
  if (large->previous != nullptr) {
    large->previous->next = large->next;
  } else {
    large_ = large->next;
  }
  if (large->next != nullptr) large->next->previous = large->previous;
  bytes_in_use_ -= sizeof(Large) + size_bytes;
  bytes_reserved_ -= sizeof(Large) + size_bytes;
  ::operator delete(large);
}

}  // namespace kvorum::mvcc::index
