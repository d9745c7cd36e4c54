// Which history of an archive a member goes on with, and the checks that it fits.
//
// A history's id follows from what it begins with, so that two members that begin one begin the
// same. Threading: that of the arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "archive/format/log_object.h"
#include "archive/format/names.h"
#include "archive/format/records.h"
#include "archive/ship/archived_member.h"
#include "archive/ship/ship_error.h"
#include "archive/store/object_store.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

// The first 8 bytes of the SHA-256 of these, never 0. Parent 0: there is none.
HistoryId HistoryIdOf(HistoryId parent, std::uint64_t cluster_id, std::string_view reason,
                      raft::Index fork);

struct HistoryChoice {
  HistoryRecord record;
  bool is_there = false;  // else the record is one to be written
};
// The member's history among these, or the one that it has to begin, at entry `first`: of those of
// its cluster, and with a departure of those that go on from there, the one that no other of them
// names as its parent; of several, the newest. kRefused if they name each other.
ShipResult<HistoryChoice> ChooseHistory(const std::vector<HistoryRecord>& records,
                                        const ArchivedMember::Identity& identity, raft::Index first,
                                        UnixMillis now_ms);

// Writes the record, or takes over the equal one that another member has begun meanwhile. kRefused
// if that is of something else.
ShipResult<HistoryRecord> BeginHistory(ObjectStore& store, HistoryRecord record);

// Where the archive of a history stands.
struct ShipPlace {
  HistoryRecord history;
  // Of the newest log object, but `last` counts a gap behind it too.
  LogEnd end;
  raft::Term term = 0;  // of the newest archived entry; 0: not known
  // Of the last object, or before it: what comes behind has no lower ones.
  std::int64_t revision = 0;
  UnixMillis time_ms = 0;
  raft::Index gap_to = 0;  // the last entry of the newest gap
};

struct PlaceFinding {
  // How what was found relates to the member's log.
  enum class Fit : std::uint8_t {
    kFits,
    kAhead,      // the archive has entries behind the member's last applied one
    kDiffers,    // of other data
    kUnreadable  // the newest object is damaged
  };
  ShipPlace place;
  Fit fit = Fit::kFits;
  std::string text;  // why it does not fit
};
// Compares the newest log object's last entry with the member's own: its term and its bytes (Raft's
// log matching: then all before it are equal too). Where the member's log begins later, terms alone
// are compared.
ShipResult<PlaceFinding> FindPlace(ObjectStore& store, ArchivedMember& member,
                                   const HistoryRecord& history);

// The last place that the member's log and the archive's history have in common, as far as one look
// tells: the member's last applied entry if the archive has the same, else the history's beginning.
ShipResult<Origin> FindFork(ObjectStore& store, ArchivedMember& member,
                            const HistoryRecord& history);

}  // namespace kvorum::archive
