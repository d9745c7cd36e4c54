// Ids of proposals, unique among the members and across their restarts: the low 16 bits of the
// member id, then 40 bits of the start time in milliseconds, then a counter of 8 bits that carries
// into the time.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "proto/raft_types.h"

namespace kvorum::server {

class RequestIdSource {
 public:
  RequestIdSource(raft::MemberId member, std::int64_t wall_ns)
      : prefix_(member << 48),
        suffix_((static_cast<std::uint64_t>(wall_ns / 1'000'000) & kTimeMask) << 8) {}

  std::uint64_t Next() {
    return prefix_ | (suffix_.fetch_add(1, std::memory_order_relaxed) & kSuffixMask);
  }

 private:
  static constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint64_t kSuffixMask = (std::uint64_t{1} << 48) - 1;

  const std::uint64_t prefix_;
  std::atomic<std::uint64_t> suffix_;
};

}  // namespace kvorum::server
