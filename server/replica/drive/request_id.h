// Ids of proposals and of requests to the leader, unique among the members and across their
// restarts: a number of 48 bits, which begins with 40 bits of the start time in milliseconds and
// goes on from there by one, added to the member id, mixed.
//
// Every member takes an entry with the id that one of its clients waits for to be that client's, so
// that two members with equal ids would answer with each other's outcomes. The whole member id
// counts. Its low 16 bits alone, as in etcd, are equal in one cluster of three in 22,000. Mixed ids
// of two members start at random distances from each other: they meet once in four million pairs
// even if the members were started months apart.
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

#include "base/mix64.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// The id of the request in an entry; changes of the configuration carry one, too. nullopt if the
// entry cannot have had a waiter; whether it can be applied is not checked here.
std::optional<std::uint64_t> RequestIdOf(const raft::Entry& entry);

class RequestIdSource {
 public:
  RequestIdSource(raft::MemberId member, std::int64_t wall_ns)
      : origin_(Mix64(member.value())),
        suffix_((static_cast<std::uint64_t>(wall_ns / 1'000'000) & kTimeMask) << 8) {}

  // Called before the first Next with the log that an earlier process left. Ids begin far beyond
  // those of this member in it, since reads take ids that are in no log, and proposals sent to the
  // leader last may be in its log only.
  void GoOnBehind(std::span<const raft::Entry> entries);

  // Never 0, which means that there is none.
  std::uint64_t Next() {
    std::uint64_t id = 0;
    while (id == 0) id = origin_ + (suffix_.fetch_add(1, std::memory_order_relaxed) & kSuffixMask);
    return id;
  }

 private:
  static constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << 40) - 1;
  static constexpr std::uint64_t kSuffixMask = (std::uint64_t{1} << 48) - 1;

  const std::uint64_t origin_;
  std::atomic<std::uint64_t> suffix_;
};

}  // namespace kvorum::server
