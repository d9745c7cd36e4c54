// The space quota: decides whether another write fits. Checked before a proposal, and again when it
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
  // Writes waiting for the backend count too, so that a burst between two commits cannot exceed the
  // limit. A request without cost (deletes, reads) always fits.
  bool Fits(std::uint64_t cost_bytes) const;

 private:
  const mvcc::Store& store_;
  const std::uint64_t limit_bytes_;
};

}  // namespace kvorum::server
