// The ids of the proposals that this member, as the leader, has taken from others: one that arrives
// a second time is dropped. Raft does not tolerate repeated proposals: the second one is applied
// too, and undoes writes acknowledged in between. Members send each once (peer/io/http_client.h),
// but proxies between them may repeat a post when a connection breaks. What two members send is
// never the same proposal, even with equal ids: etcd's have only 16 bits of the member in them.
//
// It is the leader's own affair, before anything is in the log, so that members of other versions
// apply the same. Used by the raft executor only. Proposals of this member's own clients are not
// recorded. Bounds: at least the last 8,192 ids, at most 16,384, in 256 KiB that are allocated with
// the first one. A process starts with none: connections do not outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::server {

class TakenProposals {
 public:
  // A proposal's id and sender in one number; 0 for one without an id, which is never recorded.
  using Mark = std::uint64_t;
  // Drops the entries that were taken before from the same sender, and returns the marks of the
  // others, in order.
  std::vector<Mark> DropKnown(raft::MemberId from, std::vector<raft::Entry>& entries) const;
  // O(1) each.
  void Add(std::span<const Mark> marks);
  std::size_t size() const { return newer_.size() + older_.size(); }
  static constexpr std::size_t kMost = 16'384;

 private:
  static constexpr std::size_t kGeneration = kMost / 2;

  // Marks by open addressing, in slots of which half are empty.
  class MarkSet {
   public:
    bool Contains(Mark mark) const;
    void Add(Mark mark);
    void Clear();
    std::size_t size() const { return size_; }

   private:
    static constexpr std::size_t kSlots = 2 * kGeneration;
    // The slot that has, or would have, the mark.
    std::size_t SlotOf(Mark mark) const;

    std::vector<Mark> slots_;  // 0: empty
    std::size_t size_ = 0;
  };

  bool IsKnown(Mark mark) const { return newer_.Contains(mark) || older_.Contains(mark); }

  // When one generation is full the previous one is dropped.
  MarkSet newer_;
  MarkSet older_;
};

}  // namespace kvorum::server
