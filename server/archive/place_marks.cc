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
  latest_ = {.index = index, .time_ms = clock_.WallNanos() / kNanosPerMilli, .revision = revision};
  Add();
}

void PlaceMarks::Applied(raft::Index index, std::int64_t revision) {
  const TimePoint now = clock_.Now();
  const std::int64_t now_ms = clock_.WallNanos() / kNanosPerMilli;
  std::lock_guard lock(mutex_);
  latest_ = {.index = index, .time_ms = now_ms, .revision = revision};
  if (now < next_) return;
  next_ = now + kSpacing;
  Add();
}

std::vector<archive::TimeMark> PlaceMarks::Behind(raft::Index index, std::size_t limit) {
  std::lock_guard lock(mutex_);
  Add();
  const auto first = std::ranges::upper_bound(marks_, index, {}, &archive::TimeMark::index);
  const auto count = std::min<std::ptrdiff_t>(std::distance(first, marks_.end()),
                                              static_cast<std::ptrdiff_t>(limit));
  return {first, first + count};
}

archive::TimeMark PlaceMarks::Newest() {
  std::lock_guard lock(mutex_);
  Add();
  return marks_.back();
}

// One at or before it stays: its time is that of the last entry that is not asked for.
void PlaceMarks::Forget(raft::Index index) {
  std::lock_guard lock(mutex_);
  const auto behind = std::ranges::upper_bound(marks_, index, {}, &archive::TimeMark::index);
  if (behind - marks_.begin() > 1) marks_.erase(marks_.begin(), std::prev(behind));
}

// Adds the latest place, unless it is there.
void PlaceMarks::Add() {
  if (!marks_.empty() && marks_.back().index == latest_.index) return;
  if (marks_.size() == kMaxMarks) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < marks_.size(); i += 2) marks_[kept++] = marks_[i];
    marks_.resize(kept);
  }
  marks_.push_back(latest_);
}

}  // namespace kvorum::server
