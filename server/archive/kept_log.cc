#include "server/archive/kept_log.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/log/logging.h"

namespace kvorum::server {

void KeptLog::Begin(std::span<const Segment> segments) {
  std::int64_t behind_bytes = 0;
  for (const Segment& segment : segments)
    behind_bytes -= static_cast<std::int64_t>(segment.size_bytes);
  for (const Segment& segment : segments) {
    const raft::Index first = std::max(segment.first_index, raft::Index{1});
    AddPoint(first - 1, behind_bytes);
    behind_bytes += static_cast<std::int64_t>(segment.size_bytes);
  }
}

void KeptLog::Keep(raft::Index index) {
  keep_behind_.store(index == 0 ? raft::Index{std::numeric_limits<std::uint64_t>::max()} : index,
                     std::memory_order_relaxed);
}

raft::Index KeptLog::Bound(raft::Index index, std::uint64_t written_bytes) {
  const auto written = static_cast<std::int64_t>(written_bytes);
  const raft::Index wanted = keep_behind_.load(std::memory_order_relaxed);
  const raft::Index least = LeastKept(written);
  AddPoint(index, written);
  const bool is_past_bound = wanted < least && wanted < index;
  if (is_past_bound && !is_past_bound_) {
    KV_WARN("the log outgrew its bound for an archive that is behind: old segments go",
            {"archived-index", wanted}, {"kept-behind-index", std::min(least, index)},
            {"max-bytes", max_bytes_});
  }
  is_past_bound_ = is_past_bound;
  return std::min(index, std::max(wanted, least));
}

// The first place behind which the log has no more than the bound.
raft::Index KeptLog::LeastKept(std::int64_t written_bytes) const {
  if (points_.empty()) return 0;
  const auto most = static_cast<std::int64_t>(
      std::min<std::uint64_t>(max_bytes_, std::numeric_limits<std::int64_t>::max()));
  if (written_bytes - points_.front().written_bytes <= most) return 0;
  const auto fits = std::ranges::find_if(
      points_, [&](const Point& point) { return written_bytes - point.written_bytes <= most; });
  return fits == points_.end() ? raft::Index{std::numeric_limits<std::uint64_t>::max()}
                               : fits->index;
}

// Points that are close to each other are dropped, and so are those past the bound but for the
// last.
void KeptLog::AddPoint(raft::Index index, std::int64_t written_bytes) {
  if (!points_.empty() && index <= points_.back().index) return;
  const auto spacing = static_cast<std::int64_t>(max_bytes_ / (kMaxPoints / 2));
  const std::size_t size = points_.size();
  if (size >= 2 && written_bytes - points_[size - 2].written_bytes < spacing) points_.pop_back();
  points_.push_back({.index = index, .written_bytes = written_bytes});
  const raft::Index least = LeastKept(written_bytes);
  const auto kept = std::ranges::lower_bound(points_, least, {}, &Point::index);
  if (kept - points_.begin() > 1) points_.erase(points_.begin(), std::prev(kept));
}

}  // namespace kvorum::server
