#include "wal/log_view.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kvorum::wal {

LogView::LogView(raft::Index first_index)
    : first_(std::max<raft::Index>(first_index, 1)), last_(first_ - 1) {}

std::optional<raft::Term> LogView::TermAt(raft::Index index) const {
  if (index < first_ || index > last_) return std::nullopt;
  const auto after = std::ranges::upper_bound(runs_, index, {}, &Run::first);
  return std::prev(after)->term;
}

LogView::Change LogView::AddEntry(raft::Index index, raft::Term term) {
  Change change;
  // Others write the hard state after the entries.
  if (pending_.has_value() && index == pending_->index + 1 && last_ < pending_->index)
    change = RestartAtPending();
  pending_.reset();
  const bool follows = index > first_ && index <= last_ + 1;
  if (!follows) {
    runs_.clear();
    first_ = index;
  }
  std::erase_if(runs_, [&](const Run& run) { return run.first >= index; });
  if (runs_.empty() || runs_.back().term != term) runs_.push_back({.first = index, .term = term});
  last_ = index;
  return change;
}

LogView::Change LogView::AddState(const raft::HardState& state) {
  Change change;
  if (pending_.has_value() && state.commit >= pending_->index) change = RestartAtPending();
  pending_.reset();
  return change;
}

LogView::Change LogView::AddMarker(const SnapshotMarker& marker) {
  pending_.reset();
  if (marker.index < first_ || TermAt(marker.index) == marker.term)
    return {.counts = marker, .restarts = false};
  pending_ = marker;
  return {};
}

LogView::Change LogView::RestartAtPending() {
  runs_.clear();
  first_ = pending_->index + 1;
  last_ = pending_->index;
  return {.counts = std::move(pending_), .restarts = true};
}

}  // namespace kvorum::wal
