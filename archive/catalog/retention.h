// Retention as a pure function: the objects of an archive that no longer need to be kept.
//
// The line of a history is the history and what it left: its parents, up to where they were left.
// Bases of the line are kept by age and by number; the oldest one that is kept is the floor, and
// what lies before it goes. Nothing else does: not the newest base, the newest log object of the
// head (a member that comes to lead compares it with its own log), histories' records or marks.
//
// Deletion in the order of a Retention leaves, wherever it ends, each base that is still listed
// with all that a restore from it needs. Threading: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/format/names.h"

namespace kvorum::archive {

struct RetentionOptions {
  // Bases older than this go, except the newest of those: by it the state of so long ago can be
  // restored. 0: no limit of age.
  UnixMillis keep_for_ms = 0;
  // At most so many bases stay. 0: no limit.
  std::uint64_t keep_bases = 0;
};

// The head, then its parents as far as what they hold may be deleted by the head's retention: a
// parent whose writer is alive, or that another history left too, is left to others. A writer is
// alive if the history's mark is younger than `dead_after_ms`; a history without a mark has none.
std::vector<HistoryId> PrunableLine(const Contents& contents, HistoryId head,
                                    const std::map<HistoryId, UnixMillis>& marks, UnixMillis now_ms,
                                    UnixMillis dead_after_ms);

struct Retention {
  // A base that goes. Its manifest is deleted first, so that no base is listed that lacks a part;
  // where that fails, all else of it stays.
  struct OldBase {
    HistoryId history = 0;
    BaseName name;
    bool has_manifest = false;
    std::vector<std::string> parts{};  // keys

    friend bool operator==(const OldBase&, const OldBase&) = default;
  };

  // The oldest base that stays; nullopt if none has a manifest, and then nothing goes.
  std::optional<OldBase> floor{};
  std::vector<OldBase> bases{};  // oldest first
  // Keys of log objects and gaps before the floor, oldest first. They go once all the manifests
  // have gone: until then a restore may need them.
  std::vector<std::string> objects{};
};

// `line` as PrunableLine has it. A base without a manifest goes once it lies before the newest one
// and is a day old: another member may still be writing it.
Retention PlanRetention(const Contents& contents, const std::vector<HistoryId>& line,
                        const RetentionOptions& options, UnixMillis now_ms);

// The age at which a base without a manifest is given up, by its writer too.
inline constexpr UnixMillis kUnfinishedBaseMs = UnixMillis{24} * 3'600'000;

}  // namespace kvorum::archive
