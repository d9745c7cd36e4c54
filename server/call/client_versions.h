// Calls counted by the version that their clients say they have (metadata client-api-version).
//
// Thread-safe. Cost of a call: a comparison with each version seen so far, in practice one or two.
// Bound: versions past kMost are counted together as "other".
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "base/thread_cells.h"

namespace kvorum::server {

class ClientVersions {
 public:
  static constexpr std::size_t kMost = 32;
  static constexpr std::size_t kMostBytes = 64;  // of a version; a longer one is "other"

  void Count(std::string_view version, bool is_stream) {
    cells_.Add(2 * PlaceOf(version) + (is_stream ? 1 : 0), 1);
  }
  using Visit = std::function<void(std::string_view version, bool is_stream, std::uint64_t calls)>;
  void ForEach(const Visit& visit) const;

 private:
  std::size_t PlaceOf(std::string_view version) {
    const std::size_t known = known_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < known; ++i) {
      if (versions_[i] == version) return i;
    }
    return Learn(version);
  }
  std::size_t Learn(std::string_view version);

  std::mutex mutex_;  // of those who learn
  std::array<std::string, kMost> versions_;
  std::atomic<std::size_t> known_{0};
  ThreadCells cells_{2 * (kMost + 1)};  // the last pair: all others
};

}  // namespace kvorum::server
