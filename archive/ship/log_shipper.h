// Ships the member's log: one Step does what is due in an interval.
//
// On the leader: the entries that are applied and not archived go into objects, each of which ends
// at a mark of the member, so that its revision and time are known. Between two marks that are
// further apart than an object holds, an object takes the revision of the mark before it and the
// time of the mark behind it: what it holds has at least that revision, and was there at that time.
// Times do not go back within a history, even if a clock does.
//
// On other members: the archive's mark is looked up, and the member's log kept from there on.
//
// After any error the archive is looked up anew: an object whose answer was lost may be there.
// Threading: used by the archiver's log thread; UpdateLag is called by it, too. Memory: an object
// of kShippedBytes, raw and packed, or one entry that is larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/ship/archive_status.h"
#include "archive/ship/archived_member.h"
#include "archive/ship/history_choice.h"
#include "archive/ship/ship_error.h"
#include "archive/store/object_store.h"
#include "archive/store/stop_signal.h"
#include "base/clock.h"

namespace kvorum::archive {

// Entries of one object, before they are packed.
inline constexpr std::size_t kShippedBytes = std::size_t{8} << 20;

class LogShipper {
 public:
  // The history that is archived, for a base of it.
  struct Line {
    HistoryRecord history;
    UnixMillis time_ms = 0;   // no base of it has an earlier time
    raft::Index applied = 0;  // the member's last entry
    // Only a base at or behind this entry leads on: the history begins after it, or it ends a gap.
    raft::Index least_base = 0;
  };

  LogShipper(ArchivedMember& member, const Clock& clock, const StopSignal& stop,
             ArchiveStatus& status, bool new_history);

  // With a store that may be another one than the last time.
  ShipResult<void> Step(ObjectStore& store);
  // The line that the member archives; nullopt while it does not.
  std::optional<Line> line() const;
  // The newest base that the archive had when the member came to lead.
  const std::optional<BaseName>& newest_base() const { return newest_base_; }
  // To be called while a store is waited for, too.
  void UpdateLag();

 private:
  ShipResult<void> Lead(ObjectStore& store);
  ShipResult<void> Follow(ObjectStore& store);
  ShipResult<void> Begin(ObjectStore& store);
  ShipResult<PlaceFinding> FindOwnPlace(ObjectStore& store);
  ShipResult<HistoryRecord> BeginAsked(ObjectStore& store, const HistoryRecord& head);
  bool MayStillCome();
  ShipResult<bool> ShipOne(ObjectStore& store);
  ShipResult<bool> PutObject(ObjectStore& store, const std::string& key, std::string_view bytes);
  ShipResult<void> DeclareGap(ObjectStore& store, raft::Index to, std::string_view reason);
  ShipResult<void> WriteMark(ObjectStore& store);
  Result<std::vector<raft::Entry>> ReadSome(raft::Index from, raft::Index to);
  void Publish(ShipState state);
  UnixMillis WallMillis() const { return clock_.WallNanos() / 1'000'000; }

  ArchivedMember& member_;
  const Clock& clock_;
  const StopSignal& stop_;
  ArchiveStatus& status_;
  const bool new_history_;

  std::optional<ShipPlace> place_;  // while the member leads and the archive fits
  std::optional<BaseName> newest_base_;
  std::optional<HistoryId> followed_;
  std::optional<TimePoint> last_mark_;  // written, or looked up by a follower
  std::optional<TimePoint> last_choice_;
  TimePoint began_;  // this member found the archive's place then
  // The archive was ahead: since then, with this last applied entry.
  std::optional<TimePoint> ahead_since_;
  raft::Index ahead_applied_ = 0;
  raft::Index archived_ = 0;  // as far as known, after an error too
};

}  // namespace kvorum::archive
