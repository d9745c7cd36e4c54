// The space quota: decides whether another write fits. Checked before a proposal, and again when it
// is applied. It counts the pages that hold data, not the file: what compaction has freed is room,
// with or without a defragmentation.
//
// Thread-safe.
#pragma once

#include <cstdint>

namespace kvorum::mvcc {
class Store;
}

namespace kvorum::server {

class Quota {
 public:
  // limit_bytes 0: no quota.
  Quota(const mvcc::Store& store, std::uint64_t limit_bytes)
      : store_(store), limit_bytes_(limit_bytes) {}
  // Writes waiting for the backend count too, so that a burst between two commits cannot exceed the
  // limit. A request without cost (deletes, reads) always fits.
  bool Fits(std::uint64_t cost_bytes) const;
  // True if so little is used that an alarm may end: less than nine tenths.
  bool HasRoomToSpare() const;

 private:
  std::uint64_t UsedBytes() const;

  const mvcc::Store& store_;
  const std::uint64_t limit_bytes_;
};

}  // namespace kvorum::server
