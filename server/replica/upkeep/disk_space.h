// Checks whether the disks have room for writes that are already accepted: for the log's next
// segment, and for the backend to write the data that waits in memory. Writes are refused before
// either runs out, since a commit that meets a full disk ends the process.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "base/file_system.h"

namespace kvorum::server {

class DiskSpace {
 public:
  DiskSpace(FileSystem& fs, std::string dir) : fs_(fs), dir_(std::move(dir)) { Refresh(); }

  // Asks the file system; called after each commit of the backend.
  void Refresh();
  // True if the backend's disk holds this much more with some to spare: pages are copied before
  // they are freed, so that waiting data may cost twice its size. Checks again before it returns
  // false.
  bool TakesBackendBytes(std::uint64_t pending_bytes) {
    const std::uint64_t needed = kSpareBytes + 2 * pending_bytes;
    if (free_bytes_.load(std::memory_order_relaxed) >= needed) return true;
    Refresh();
    return free_bytes_.load(std::memory_order_relaxed) >= needed;
  }
  // True if an alarm that was raised for a full disk may end: the next writes do not raise it again
  // at once.
  bool HasRoomToSpare(std::uint64_t pending_bytes) {
    return TakesBackendBytes(pending_bytes + kSpareBytes);
  }

 private:
  static constexpr std::uint64_t kSpareBytes = std::uint64_t{16} << 20;

  FileSystem& fs_;
  const std::string dir_;
  std::atomic<std::uint64_t> free_bytes_{std::numeric_limits<std::uint64_t>::max()};
};

}  // namespace kvorum::server
