// The space quota: whether one more write still fits. Checked before a proposal, and again when it
// is applied.
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
  // What waits for the backend counts too, so that a burst between two commits cannot run past the
  // limit. A request that costs nothing (deletes, reads) always fits.
  bool Fits(std::uint64_t cost_bytes) const;

 private:
  const mvcc::Store& store_;
  const std::uint64_t limit_bytes_;
};

}  // namespace kvorum::server
