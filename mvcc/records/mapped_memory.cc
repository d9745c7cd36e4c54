#include "mvcc/records/mapped_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <utility>

namespace kvorum::mvcc {

MappedMemory::MappedMemory(std::size_t size_bytes, std::size_t alignment) {
  constexpr std::size_t kPageBytes = 4096;
  constexpr std::size_t kHugePageBytes = 2 * 1024 * 1024;
  // Enough to find an aligned place inside; the rest is returned at once.
  const std::size_t mapped = size_bytes + (alignment > kPageBytes ? alignment : 0);
  void* memory =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<char*>(memory);
  const std::size_t before =
      (alignment - reinterpret_cast<std::uintptr_t>(begin) % alignment) % alignment;
  data_ = begin + before;
  size_ = size_bytes;
  if (before > 0) ::munmap(begin, before);
  if (before + size_bytes < mapped) ::munmap(data_ + size_bytes, mapped - before - size_bytes);
  if (alignment % kHugePageBytes == 0) ::madvise(data_, size_bytes, MADV_HUGEPAGE);
}

MappedMemory::MappedMemory(MappedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedMemory::~MappedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace kvorum::mvcc
