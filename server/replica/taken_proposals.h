// The ids of the proposals that this member, as the leader, has taken from others: one that comes a
// second time is not taken again. Raft does not bear repeated proposals: the second one is applied
// too, and undoes what was acknowledged in between. Members send each once (peer/http_client.h),
// but what stands between them may not: proxies post again when a connection breaks.
//
// It is the leader's own affair, before anything is in the log, so that members of other versions
// apply the same. Used by the raft executor only. Of what clients propose here nothing is kept.
// Bounds: the last 8,192 ids at least, 16,384 at most, in 256 KiB that are there once there is a
// first one. A process that starts knows none: connections do not outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::server {

class TakenProposals {
 public:
  // Drops the entries that were taken before, and returns the ids of the others, in their order; 0
  // for one without an id, which is never known.
  std::vector<std::uint64_t> DropKnown(std::vector<raft::Entry>& entries) const;
  // O(1) each.
  void Add(std::span<const std::uint64_t> ids);

 private:
  static constexpr std::size_t kGeneration = 8'192;

  // Ids by open addressing, in slots of which half are empty.
  class IdSet {
   public:
    bool Contains(std::uint64_t id) const;
    void Add(std::uint64_t id);
    void Clear();
    std::size_t size() const { return size_; }

   private:
    static constexpr std::size_t kSlots = 2 * kGeneration;
    // The slot where the id is, or would be.
    std::size_t SlotOf(std::uint64_t id) const;

    std::vector<std::uint64_t> slots_;  // 0: empty
    std::size_t size_ = 0;
  };

  bool IsKnown(std::uint64_t id) const { return newer_.Contains(id) || older_.Contains(id); }

  // When one generation is full the one before it is forgotten.
  IdSet newer_;
  IdSet older_;
};

}  // namespace kvorum::server
