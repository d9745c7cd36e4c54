// The part of the member's log that an archive still has to read: segments stay for it, up to a
// bound in bytes. From a start until the archive is known everything stays that is there.
//
// Threading: Begin comes first; Keep may be called by any thread, Bound by the raft executor. The
// bound counts what the log has written, as the log's snapshots come: it may be passed by what is
// written between two of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::server {

class KeptLog {
 public:
  static constexpr std::size_t kMaxPoints = 128;

  explicit KeptLog(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  struct Segment {
    raft::Index first_index = 0;
    std::uint64_t size_bytes = 0;
  };
  // The segments that the log has at the start, oldest first.
  void Begin(std::span<const Segment> segments);

  // Entries behind this one will be read. 0: none.
  void Keep(raft::Index index);
  // The index up to which segments may go, if they might up to `index`. `written_bytes`: by the log
  // since the start.
  raft::Index Bound(raft::Index index, std::uint64_t written_bytes);

 private:
  // The log had written so much when it held this entry; before the start it is negative.
  struct Point {
    raft::Index index = 0;
    std::int64_t written_bytes = 0;
  };
  raft::Index LeastKept(std::int64_t written_bytes) const;
  void AddPoint(raft::Index index, std::int64_t written_bytes);

  const std::uint64_t max_bytes_;
  std::atomic<raft::Index> keep_behind_{raft::Index{0}};
  // State of the raft executor.
  std::vector<Point> points_;  // ascending
  bool is_past_bound_ = false;
};

}  // namespace kvorum::server
