// Ids of proposals and of requests to the leader, unique among the members and across their
// restarts: the low 16 bits of the member id, then 40 bits of the start time in milliseconds, then
// a counter of 8 bits that carries into the time.
//
// If the clock went back while the member was down, an earlier process's ids would repeat, and its
// proposals, applied late, would be taken for the outcome of new ones. So the entries of the log
// matter too (GoOnBehind).
//
// Next is thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "proto/raft_types.h"

namespace kvorum::server {

// The id of the request in an entry; changes of the configuration carry one, too. nullopt if nobody
// can have waited for the entry; whether it can be applied is not checked here.
std::optional<std::uint64_t> RequestIdOf(const raft::Entry& entry);

class RequestIdSource {
 public:
  RequestIdSource(raft::MemberId member, std::int64_t wall_ns)
      : prefix_(member.value() << 48),
        suffix_((static_cast<std::uint64_t>(wall_ns / 1'000'000) & kTimeMask) << 8) {}

  // Called before the first Next with the log that an earlier process left. Ids begin far beyond
  // those of this member in it, since reads take ids that are in no log, and proposals sent to the
  // leader last may be in its log only.
  void GoOnBehind(std::span<const raft::Entry> entries);

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
