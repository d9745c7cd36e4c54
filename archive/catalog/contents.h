// The contents of an archive by its listing: histories, each with bases, log objects and gaps; and
// from that, what can be restored, and by which objects.
//
// Reads names alone: damage within objects is found when they are read. Threading: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "archive/format/names.h"
#include "archive/format/records.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

struct Base {
  BaseName name;
  bool has_manifest = false;
  std::uint32_t parts = 0;      // their number; the manifest says how many there should be
  std::uint32_t parts_end = 0;  // one past the highest number of a part

  friend bool operator==(const Base&, const Base&) = default;
};

// From one base on, without a gap.
struct Restorable {
  BaseName base;
  raft::Index last = 0;
  std::int64_t last_revision = 0;
  UnixMillis last_time_ms = 0;

  friend bool operator==(const Restorable&, const Restorable&) = default;
};

struct History {
  std::optional<HistoryRecord> record;  // nullopt: its file is missing, or was not read
  std::vector<Base> bases;              // by index
  std::vector<LogName> logs;            // by first entry, then by last one
  std::vector<GapName> gaps;
  bool has_file = false;
  bool has_mark = false;

  // The last entry in a log object or a base; 0 without either.
  raft::Index last() const;
  // The states that each base leads to, by index; bases without a manifest left out.
  std::vector<Restorable> Restorables() const;
  // The objects that hold the entries behind `index`, as far as there is no gap, each beginning at
  // the latest behind the end of the one before it. Of several the one that leads on the furthest.
  std::vector<LogName> Chain(raft::Index index) const;
};

struct Contents {
  std::map<HistoryId, History> histories;
  std::vector<std::string> strangers;  // the first names that no archive writes
  std::uint64_t stranger_count = 0;

  static constexpr std::size_t kMaxStrangers = 100;

  // A key of the listing, below the URL's prefix; in any order.
  void Add(std::string_view key);
  // Once all keys are there.
  void Sort();
  // The histories that no other one's record names as its parent.
  std::vector<HistoryId> Heads() const;
};

struct ToLatest {};
// The state right after that entry.
struct ToIndex {
  raft::Index index = 0;
};
// The state once the store had this revision for the first time.
struct ToRevision {
  std::int64_t revision = 0;
};
// The last state that was recorded at this time or before.
struct ToTime {
  UnixMillis time_ms = 0;
};
using Target = std::variant<ToLatest, ToIndex, ToRevision, ToTime>;

struct Plan {
  HistoryId history = 0;
  BaseName base;
  std::vector<LogName> logs{};  // the last one may lead past the target
  Target target;
  // No entry behind it is taken: another history left this one there.
  std::optional<raft::Index> end;
};
// Looks in `history`, or, without one, in the only head and what it left, its parents up to where
// they were left. kNotFound with what can be restored instead; kFailedPrecondition if there are
// several heads and none was named.
Result<Plan> MakePlan(const Contents& contents, std::optional<HistoryId> history,
                      const Target& target);

}  // namespace kvorum::archive
