// Decides what a walk through a mapped file should ask the kernel for before it gets there.
//
// The kernel's own read-ahead of mapped files reads around every fault, by up to megabytes: with a
// database larger than memory, a look-up of 100 bytes pushes as much out of the cache as it reads.
// So that is off for the backend's file, and code that walks it in order asks for it.
//
// Used by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvorum::mvcc {

class ReadAhead {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kMostPages = 1024;

  struct Pages {
    std::uintptr_t first = 0;  // the address by kPageBytes
    std::size_t count = 0;     // 0: nothing to ask for
  };

  static std::uintptr_t PageOf(const char* address) {
    return reinterpret_cast<std::uintptr_t>(address) / kPageBytes;
  }

  // The walk reads these bytes next. Returns the pages to be fetched meanwhile: once it has gone
  // forward for two steps, more and more of them the further it goes; before that, those of the
  // bytes unless they are few. A few ns within a page.
  Pages Follow(std::string_view bytes) {
    const std::uintptr_t first = PageOf(bytes.data());
    const std::uintptr_t end = PageOf(bytes.data() + bytes.size() - 1) + 1;
    if (end == end_) [[likely]]
      return {};
    const bool forward = first + 1 >= end_ && first < end_ + kLargestStepPages;
    end_ = end;
    if (!forward) {
      window_ = 0;
      until_ = end;
      return {.first = first, .count = end - first >= kSeveralPages ? end - first : 0};
    }
    if (end + window_ / 2 < until_) return {};
    window_ = std::clamp(2 * window_, kLeastPages, kMostPages);
    const std::uintptr_t begin = std::max(first, until_);
    until_ = std::max(begin + window_, end);
    return {.first = begin, .count = until_ - begin};
  }

 private:
  static constexpr std::size_t kLeastPages = 16;
  // Fewer are faster to fault in than to ask for when they are in memory, as they mostly are.
  static constexpr std::size_t kSeveralPages = 4;
  // Past pages of another kind.
  static constexpr std::uintptr_t kLargestStepPages = 64;

  std::uintptr_t end_ = 0;  // the page behind the last bytes
  std::size_t window_ = 0;
  std::uintptr_t until_ = 0;  // fetched up to here
};

// A walk through records: their keys stand in the tree's leaves, their values too or, if they are
// large, in pages of their own.
class RecordReadAhead {
 public:
  void Follow(std::string_view key, std::string_view value) {
    FollowKey(key);
    if (ReadAhead::PageOf(value.data()) != ReadAhead::PageOf(key.data()) && !value.empty())
      Fetch(values_.Follow(value));
  }
  // For a walk that does not read the values.
  void FollowKey(std::string_view key) { Fetch(leaves_.Follow(key)); }

 private:
  // Asks the kernel, without waiting for the disk. Needs no answer: what fails comes by a fault.
  static void Fetch(ReadAhead::Pages pages) {
    if (pages.count != 0) [[unlikely]]
      FetchPages(pages);
  }
  static void FetchPages(ReadAhead::Pages pages);

  ReadAhead leaves_;
  ReadAhead values_;
};

}  // namespace kvorum::mvcc
