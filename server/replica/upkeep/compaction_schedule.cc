#include "server/replica/upkeep/compaction_schedule.h"

#include <algorithm>

namespace kvorum::server {
namespace {

constexpr Duration kLongestInterval = std::chrono::hours(1);
constexpr int kTurnsPerInterval = 10;
// A period of nanoseconds must not keep a thread busy.
constexpr Duration kShortestTurn = std::chrono::milliseconds(1);

Duration CompactionInterval(Duration period) { return std::min(period, kLongestInterval); }

}  // namespace

Duration CompactionSchedule::interval() const {
  const Duration wanted = policy_.mode == CompactionPolicy::Mode::kRevision
                              ? policy_.revision_interval
                              : CompactionInterval(policy_.period) / kTurnsPerInterval;
  return std::max(wanted, kShortestTurn);
}

// The oldest of them is as old as the period at the next turn.
std::size_t CompactionSchedule::most_samples() const {
  return static_cast<std::size_t>(policy_.period / interval()) + 1;
}

void CompactionSchedule::Sample(std::int64_t revision) {
  if (policy_.mode != CompactionPolicy::Mode::kPeriodic) return;
  samples_.push_back(revision);
  if (samples_.size() > most_samples()) samples_.pop_front();
}

std::optional<std::int64_t> CompactionSchedule::Due(TimePoint now, std::int64_t revision,
                                                    bool is_paused) {
  if (is_paused) return std::nullopt;
  return policy_.mode == CompactionPolicy::Mode::kPeriodic ? DueByPeriod(now)
                                                           : DueByRevision(revision);
}

std::optional<std::int64_t> CompactionSchedule::DueByPeriod(TimePoint now) {
  if (samples_.empty() || now - last_success_ < pause_ || samples_.front() == last_compacted_)
    return std::nullopt;
  // A whole period passes only before the first compaction.
  pause_ = CompactionInterval(policy_.period);
  return samples_.front();
}

std::optional<std::int64_t> CompactionSchedule::DueByRevision(std::int64_t revision) const {
  const std::int64_t due = revision - policy_.kept_revisions;
  if (due <= 0 || due == last_compacted_) return std::nullopt;
  return due;
}

void CompactionSchedule::Compacted(std::int64_t revision, TimePoint now) {
  last_compacted_ = revision;
  last_success_ = now;
}

}  // namespace kvorum::server
