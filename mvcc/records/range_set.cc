#include "mvcc/records/range_set.h"

#include <iterator>
#include <utility>

namespace kvorum::mvcc {

bool RangeSet::End::Beyond(const End& other) const {
  if (open || other.open) return open && !other.open;
  if (key != other.key) return key > other.key;
  return inclusive && !other.inclusive;
}

void RangeSet::Add(KeyRange range) {
  Insert(range.begin(), {.key = range.single() ? range.begin() : range.end(),
                         .inclusive = range.single(),
                         .open = range.open()});
}

void RangeSet::Insert(std::string_view begin, const End& end) {
  if (end.Before(begin)) return;  // empty
  // A range that begins at or before ours and reaches it is extended; one that begins within ours
  // is swallowed.
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin() && !std::prev(at)->second.Before(begin)) {
    --at;
    if (end.Beyond(at->second)) at->second = end;
  } else {
    at = ranges_.emplace_hint(at, begin, end);
  }
  for (auto next = std::next(at); next != ranges_.end() && !at->second.Before(next->first);) {
    if (next->second.Beyond(at->second)) at->second = next->second;
    next = ranges_.erase(next);
  }
}

bool RangeSet::Contains(std::string_view key) const {
  const auto after = ranges_.upper_bound(key);
  return after != ranges_.begin() && !std::prev(after)->second.Before(key);
}

void RangeSet::Merge(RangeSet&& other) {
  if (other.ranges_.size() > ranges_.size()) std::swap(ranges_, other.ranges_);
  for (const auto& [begin, end] : other.ranges_) Insert(begin, end);
  other.ranges_.clear();
}

}  // namespace kvorum::mvcc
