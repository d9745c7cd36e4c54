// The part of the leader's log needed by followers that get a snapshot: they continue from its
// index, once it has arrived and is installed, and if the log were gone by then they would only
// need the next snapshot, and so on for ever.
//
// Used by the raft executor only. Bounds (Limits): past max_memory_bytes the log is compacted in
// memory all the same, and what a follower needs is read from the log's segments, which stay; a
// follower for whom more than max_stored_bytes would have to stay gets another snapshot after all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "proto/raft_types.h"

namespace kvorum::raft {
class Node;
}  // namespace kvorum::raft

namespace kvorum::server {

class CatchUpLog {
 public:
  struct Limits {
    std::size_t max_memory_bytes = std::size_t{512} << 20;
    std::uint64_t max_stored_bytes = std::uint64_t{16} << 30;
  };
  // A follower that is not heard for so long needs nothing any more.
  static constexpr Duration kSilence = std::chrono::seconds(30);
  // A follower that has what the log ended with so long ago keeps up by itself.
  static constexpr Duration kKeepsUp = std::chrono::seconds(1);

  explicit CatchUpLog(Limits limits) : limits_(limits) {}

  // A snapshot of this index or a later one is being sent.
  void Begun(raft::MemberId peer, raft::Index index);
  void Ended(raft::MemberId peer, bool succeeded, TimePoint now);
  // Looks at the followers. `written_bytes` are those of the log since the start; `has_space`:
  // whether the disk has room for the log to grow.
  void Update(const raft::Node& node, TimePoint now, std::uint64_t written_bytes, bool has_space);

  // The index behind which the log is needed; 0 if no member needs it.
  raft::Index Needed() const;
  // The index up to which the log may be compacted in memory, if it should be compacted to `index`.
  raft::Index Bound(raft::Index index, std::size_t log_size_bytes) const;

 private:
  struct Need {
    raft::Index index = 0;
    bool has_arrived = false;
    std::uint64_t begun_bytes = 0;  // written_bytes of the first Update after that; 0: none yet
    TimePoint heard{};              // after it has arrived
    raft::Index goal = 0;           // the log's last entry, at goal_at
    TimePoint goal_at{};
  };
  static bool IsOver(Need& need, raft::MemberId peer, const raft::Node& node, TimePoint now);

  const Limits limits_;
  std::map<raft::MemberId, Need> needs_;
};

}  // namespace kvorum::server
