// The sizes of a store's backend as of its last commit, which may be asked at any time without
// waiting for it.
//
// Thread-safe; Refresh is for those who own the backend's write transaction.
#pragma once

#include <atomic>
#include <cstdint>

#include "mvcc/lmdb/backend.h"

namespace kvorum::mvcc {

class BackendSizes {
 public:
  void Refresh(const Backend& backend) {
    bytes_.store(backend.SizeBytes(), std::memory_order_relaxed);
    in_use_bytes_.store(backend.SizeInUseBytes(), std::memory_order_relaxed);
  }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t in_use_bytes() const { return in_use_bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> in_use_bytes_{0};
};

}  // namespace kvorum::mvcc
