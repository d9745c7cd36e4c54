// The memory of nghttp2's objects for the connections of one loop. A request allocates some ten
// small blocks of it and frees them within a wake-up or two, by the hundred with every batch: more
// than malloc keeps at hand for a thread.
//
// Blocks come from one region of a fixed size, each page of it for blocks of one size; larger ones,
// and all once the region is full, come from malloc. Freed blocks stay in the region, so that they
// keep no page of malloc's from being returned to the system.
//
// Belongs to the loop's thread, or to the owner's once that has ended. Under a sanitizer a loop's
// blocks come from malloc, so that a use after free is detected.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KVORUM_SESSION_MEMORY_IS_MALLOC
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KVORUM_SESSION_MEMORY_IS_MALLOC
#endif

namespace kvorum::rpc {

class SessionMemory {
 public:
#if defined(KVORUM_SESSION_MEMORY_IS_MALLOC)
  static constexpr std::size_t kUsualBytes = 0;
#else
  static constexpr std::size_t kUsualBytes = std::size_t{1} << 20;
#endif

  // The region's size, a multiple of 4 KiB; 0: everything comes from malloc.
  explicit SessionMemory(std::size_t region_bytes = kUsualBytes);
  ~SessionMemory();  // after the last block was given back
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  // Null when there is no memory. Aligned as malloc's.
  void* Take(std::size_t size_bytes);
  void* TakeZeroed(std::size_t count, std::size_t each_bytes);
  // Null stays null, and the block as it was, when there is no memory.
  void* Resize(void* block, std::size_t size_bytes);
  // Null: there is no block.
  void Give(void* block);

 private:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kStepBytes = 16;
  static constexpr std::size_t kLargestBytes = 512;
  static constexpr std::size_t kClasses = kLargestBytes / kStepBytes + 1;

  struct Freed {
    Freed* next;
  };

  static std::size_t ClassOf(std::size_t size_bytes) {
    return (size_bytes + kStepBytes - 1) / kStepBytes;
  }
  bool IsOurs(const void* block) const {
    const auto at = reinterpret_cast<std::uintptr_t>(block);
    const auto region = reinterpret_cast<std::uintptr_t>(region_);
    return region_ != nullptr && at - region < region_bytes_;
  }
  std::size_t ClassOfBlock(const void* block) const;
  // Makes a page's blocks of this class available; false if the region is full.
  bool AddPage(std::size_t size_class);

  const std::size_t region_bytes_;
  char* region_ = nullptr;                // made when it is first needed
  std::vector<std::uint8_t> page_class_;  // of the pages in use
  std::array<Freed*, kClasses> freed_{};
};

}  // namespace kvorum::rpc
