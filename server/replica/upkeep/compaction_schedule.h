// Decides when the history is compacted, and to which revision, by the rules of etcd's compactors:
//
// periodic: the revision is sampled ten times per period (per hour, if the period is longer). After
// the first period, and from then on once per period or hour, the revision of one period ago is
// compacted. After a failure the next sample's turn tries again.
//
// revision: every five minutes the current revision less the number of kept ones is compacted.
//
// The revision compacted last is not compacted again. A pause skips turns; the samples go on.
//
// Pure: the caller passes the time in. It calls Sample, waits for interval(), calls Due, and begins
// again. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"

namespace kvorum::server {

struct CompactionPolicy {
  enum class Mode : std::uint8_t { kOff, kPeriodic, kRevision };
  Mode mode = Mode::kOff;
  Duration period{};                // kPeriodic: positive
  std::int64_t kept_revisions = 0;  // kRevision: positive
  Duration revision_interval = std::chrono::minutes(5);
};

class CompactionSchedule {
 public:
  CompactionSchedule(const CompactionPolicy& policy, TimePoint start)
      : policy_(policy), last_success_(start), pause_(policy.period) {}

  // The time between two turns.
  Duration interval() const;
  // Notes the current revision, at the start and after each turn.
  void Sample(std::int64_t revision);
  // The revision to compact now, if there is one.
  std::optional<std::int64_t> Due(TimePoint now, std::int64_t revision, bool is_paused);
  // A revision that Due returned is compacted, by this schedule or by somebody before it.
  void Compacted(std::int64_t revision, TimePoint now);

 private:
  std::size_t most_samples() const;
  std::optional<std::int64_t> DueByPeriod(TimePoint now);
  std::optional<std::int64_t> DueByRevision(std::int64_t revision) const;

  const CompactionPolicy policy_;
  std::deque<std::int64_t> samples_;  // oldest first
  std::int64_t last_compacted_ = 0;
  TimePoint last_success_;
  Duration pause_;  // the least time from one success to the next
};

}  // namespace kvorum::server
