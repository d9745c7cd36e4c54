// Judges members by their incremental hashes: who differs from the majority, and since when. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/entries/history_json.h"

namespace kvorum::server {

struct Comparison {
  enum class Verdict {
    kNothing,     // no two members have a revision and a compaction in common
    kEqual,       // those compared are equal
    kMinority,    // a majority of the cluster is equal, others differ from it
    kNoMajority,  // some differ, and it is unknown which are right
  };

  Verdict verdict = Verdict::kNothing;
  std::int64_t revision = 0;  // compared here
  std::int64_t compact_revision = -1;
  std::size_t compared = 0;
  std::vector<raft::MemberId> diverged;  // the minority
};

// Compares at the newest place that most of them know. `cluster_size` counts all members, those
// that did not answer too.
Comparison Compare(const std::vector<MemberHistory>& members, std::size_t cluster_size);

// Two members that differ were equal at `equal_at`, the last known, and differ from `differ_at` on,
// the first known.
struct DivergenceRange {
  std::optional<std::int64_t> equal_at;
  std::int64_t differ_at = 0;
};
// Nothing if they have no place in common, or are equal at all of them.
std::optional<DivergenceRange> FindDivergence(const mvcc::HistorySum::History& a,
                                              const mvcc::HistorySum::History& b);

}  // namespace kvorum::server
