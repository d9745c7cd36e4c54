// The bytes that the program has allocated and not freed, counted at the allocator. It replaces
// operator new: one source of a program includes it, and the program is a separate one.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> live_bytes = 0;
// glibc keeps a word in front of each allocation.
constexpr std::size_t kAllocationHeader = sizeof(void*);

void* CountedAllocate(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  live_bytes += static_cast<std::int64_t>(malloc_usable_size(memory) + kAllocationHeader);
  return memory;
}
void CountedFree(void* memory) {
  if (memory == nullptr) return;
  live_bytes -= static_cast<std::int64_t>(malloc_usable_size(memory) + kAllocationHeader);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return CountedAllocate(size); }
void* operator new[](std::size_t size) { return CountedAllocate(size); }
void operator delete(void* memory) noexcept { CountedFree(memory); }
void operator delete[](void* memory) noexcept { CountedFree(memory); }
void operator delete(void* memory, std::size_t) noexcept { CountedFree(memory); }
void operator delete[](void* memory, std::size_t) noexcept { CountedFree(memory); }
