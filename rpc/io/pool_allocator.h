// An allocator for objects that come and go with every call: each thread keeps a bounded stock of
// freed blocks of the type and takes from it first. The freeing thread keeps the block, so it pays
// off where objects are mostly freed by the thread that makes them.
//
// Thread-safe like malloc. Under AddressSanitizer it is plain new and delete, so that a use after
// free is detected.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace kvorum::rpc {

template <class T>
class PoolAllocator {
 public:
  using value_type = T;

  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}  // NOLINT(google-explicit-constructor): the concept's

  T* allocate(std::size_t count) {
    if (count == 1 && stock_.count > 0) return static_cast<T*>(stock_.blocks[--stock_.count]);
    return static_cast<T*>(::operator new(count * sizeof(T)));
  }
  void deallocate(T* block, std::size_t count) {
    if (count == 1 && stock_.count < stock_.limit) {
      stock_.blocks[stock_.count++] = block;
    } else {
      ::operator delete(block);
    }
  }
  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }

 private:
  static constexpr std::size_t kMostKept = 256;
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kKeep = 0;
#else
  static constexpr std::size_t kKeep = kMostKept;
#endif
  struct Stock {
    ~Stock() {
      while (count > 0) ::operator delete(blocks[--count]);
      limit = 0;  // blocks that this thread still frees while it ends go to delete
    }
    std::array<void*, kMostKept> blocks;
    std::size_t count = 0;
    std::size_t limit = kKeep;
  };
  static inline thread_local Stock stock_;
};

}  // namespace kvorum::rpc
