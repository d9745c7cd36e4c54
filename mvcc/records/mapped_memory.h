// Anonymous memory directly from the system, returned to it as soon as it is not needed: a heap
// would keep memory below a live block. A block is used by one thread at a time.
#pragma once

#include <cstddef>

namespace kvorum::mvcc {

class MappedMemory {
 public:
  MappedMemory() = default;
  // Zeroed. size_bytes and alignment are multiples of 4 KiB, the latter a power of two. Throws
  // std::bad_alloc like operator new.
  explicit MappedMemory(std::size_t size_bytes, std::size_t alignment = 4096);
  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&& other) noexcept;
  ~MappedMemory();

  char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kvorum::mvcc
