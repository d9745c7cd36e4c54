#include "rpc/io/session_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace kvorum::rpc {

SessionMemory::SessionMemory(std::size_t region_bytes) : region_bytes_(region_bytes) {
  page_class_.reserve(region_bytes / kPageBytes);
}

SessionMemory::~SessionMemory() { std::free(region_); }

std::size_t SessionMemory::ClassOfBlock(const void* block) const {
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(block) - region_);
  return page_class_[offset / kPageBytes];
}

bool SessionMemory::AddPage(std::size_t size_class) {
  const std::size_t offset = page_class_.size() * kPageBytes;
  if (offset == region_bytes_) return false;
  if (region_ == nullptr) {
    // Untouched pages of it cost nothing.
    region_ = static_cast<char*>(std::aligned_alloc(kPageBytes, region_bytes_));
    if (region_ == nullptr) return false;
  }
  char* const page = region_ + offset;
  page_class_.push_back(static_cast<std::uint8_t>(size_class));
  const std::size_t block_bytes = size_class * kStepBytes;
  for (std::size_t at = kPageBytes / block_bytes; at > 0; --at)
    freed_[size_class] = new (page + (at - 1) * block_bytes) Freed{freed_[size_class]};
  return true;
}

void* SessionMemory::Take(std::size_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kLargestBytes) return std::malloc(size_bytes);
  const std::size_t size_class = ClassOf(size_bytes);
  if (freed_[size_class] == nullptr && !AddPage(size_class)) return std::malloc(size_bytes);
  return std::exchange(freed_[size_class], freed_[size_class]->next);
}

void* SessionMemory::TakeZeroed(std::size_t count, std::size_t each_bytes) {
  if (each_bytes != 0 && count > std::numeric_limits<std::size_t>::max() / each_bytes)
    return nullptr;
  void* const block = Take(count * each_bytes);
  if (block != nullptr) std::memset(block, 0, count * each_bytes);
  return block;
}

void* SessionMemory::Resize(void* block, std::size_t size_bytes) {
  if (block == nullptr) return Take(size_bytes);
  if (!IsOurs(block)) return std::realloc(block, size_bytes);
  const std::size_t had_bytes = ClassOfBlock(block) * kStepBytes;
  void* const resized = Take(size_bytes);
  if (resized == nullptr) return nullptr;
  std::memcpy(resized, block, std::min(had_bytes, size_bytes));
  Give(block);
  return resized;
}

void SessionMemory::Give(void* block) {
  if (!IsOurs(block)) return std::free(block);
  const std::size_t size_class = ClassOfBlock(block);
  freed_[size_class] = new (block) Freed{freed_[size_class]};
}

}  // namespace kvorum::rpc
