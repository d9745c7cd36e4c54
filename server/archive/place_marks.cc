#include "server/archive/place_marks.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace kvorum::server {
namespace {

constexpr std::int64_t kNanosPerMilli = 1'000'000;

}  // namespace

void PlaceMarks::Begin(raft::Index index, std::int64_t revision) {
  std::lock_guard lock(mutex_);
  latest_ = index;
  latest_revision_ = revision;
  Mark();
}

void PlaceMarks::Applied(raft::Index index, std::int64_t revision) {
  const TimePoint now = clock_.Now();
  std::lock_guard lock(mutex_);
  latest_ = index;
  latest_revision_ = revision;
  if (now < next_) return;
  next_ = now + kSpacing;
  Mark();
}

std::vector<archive::TimeMark> PlaceMarks::Behind(raft::Index index, std::size_t limit) {
  std::lock_guard lock(mutex_);
  MarkLatest();
  const auto first = std::ranges::upper_bound(marks_, index, {}, &archive::TimeMark::index);
  const auto count = std::min<std::ptrdiff_t>(std::distance(first, marks_.end()),
                                              static_cast<std::ptrdiff_t>(limit));
  return {first, first + count};
}

archive::TimeMark PlaceMarks::Newest() {
  std::lock_guard lock(mutex_);
  MarkLatest();
  return marks_.back();
}

// One at or before it stays: its time is that of the last entry that is not asked for.
void PlaceMarks::Forget(raft::Index index) {
  std::lock_guard lock(mutex_);
  const auto behind = std::ranges::upper_bound(marks_, index, {}, &archive::TimeMark::index);
  if (behind - marks_.begin() > 1) marks_.erase(marks_.begin(), std::prev(behind));
}

// The state had that place earlier, and has it now.
void PlaceMarks::MarkLatest() {
  if (marks_.empty() || marks_.back().index != latest_) Mark();
}

void PlaceMarks::Mark() {
  if (marks_.size() == kMaxMarks) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < marks_.size(); i += 2) marks_[kept++] = marks_[i];
    marks_.resize(kept);
  }
  marks_.push_back({.index = latest_,
                    .time_ms = clock_.WallNanos() / kNanosPerMilli,
                    .revision = latest_revision_});
}

}  // namespace kvorum::server
