// When the member's state had which entry: what an archive's objects end at, and what a restore to
// a time goes by.
//
// Threading: Applied belongs to the apply executor, the rest to any thread. Cost of Applied: a read
// of each clock and an uncontended lock, once a batch of entries. Bound: kMaxMarks; then every
// second one is dropped, so that old times are known less finely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "archive/format/records.h"
#include "base/clock.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class PlaceMarks {
 public:
  static constexpr std::size_t kMaxMarks = 4'096;
  // Marks are at least so far apart, but for the last place when it is asked for.
  static constexpr Duration kSpacing = std::chrono::milliseconds(50);

  explicit PlaceMarks(const Clock& clock) : clock_(clock) {}

  // The place at which the member starts; once, before the others.
  void Begin(raft::Index index, std::int64_t revision);
  // A batch of entries was applied, up to this one.
  void Applied(raft::Index index, std::int64_t revision);

  // The marks behind this entry, oldest first, at most so many. The last place that was applied is
  // one of them, with its own time.
  std::vector<archive::TimeMark> Behind(raft::Index index, std::size_t limit);
  archive::TimeMark Newest();
  // Marks of entries before this one are not asked for again.
  void Forget(raft::Index index);

 private:
  void Add();

  const Clock& clock_;
  std::mutex mutex_;
  // Guarded by mutex_.
  archive::TimeMark latest_;
  TimePoint next_{};
  std::vector<archive::TimeMark> marks_;  // ascending; never empty after Begin
};

}  // namespace kvorum::server
