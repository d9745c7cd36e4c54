#include "auth/permission_set.h"

#include <algorithm>
#include <utility>

#include "base/sort_head.h"

namespace kvorum::auth {
namespace {

// True if the range ends at or after the other's end.
bool EndsBehind(const GrantedRanges::Range& range, const GrantedRanges::Range& other) {
  return range.open || (!other.open && range.end >= other.end);
}

GrantedRanges::Range ToRange(const Permission& permission) {
  if (IsOpenEnd(permission.range_end)) return {permission.key, {}, true};
  // A single key is the range up to its successor.
  if (permission.range_end.empty()) return {permission.key, permission.key + '\0', false};
  return {permission.key, permission.range_end, false};
}

}  // namespace

GrantedRanges::GrantedRanges(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  for (Range& range : ranges) {
    if (ranges_.empty() || (!ranges_.back().open && ranges_.back().end < range.begin)) {
      ranges_.push_back(std::move(range));
    } else if (!EndsBehind(ranges_.back(), range)) {
      ranges_.back().end = std::move(range.end);
      ranges_.back().open = range.open;
    }
  }
  ranges_.shrink_to_fit();
  if (ranges_.empty()) return;
  // They are sorted: a common prefix of the first and the last is common to all.
  const std::string& first = ranges_.front().begin;
  const std::string& last = ranges_.back().begin;
  common_.assign(first.begin(), std::ranges::mismatch(first, last).in1);
  heads_.reserve(ranges_.size());
  for (const Range& range : ranges_) heads_.push_back(SortHead(range.begin, common_.size()));
}

GrantedRanges::Iterator GrantedRanges::FirstBehind(std::string_view key) const {
  if (const int order = key.substr(0, common_.size()).compare(common_); order != 0)
    return order < 0 ? ranges_.begin() : ranges_.end();
  const std::uint64_t head = SortHead(key, common_.size());
  const auto from = heads_.begin() + static_cast<std::ptrdiff_t>(HeadsBelow(heads_, head));
  const auto first = ranges_.begin() + (from - heads_.begin());
  if (from == heads_.end() || *from != head) return first;
  // Ranges with this very head, usually one, are distinguished by the rest of their texts.
  const auto second = std::next(from);
  if (second == heads_.end() || *second != head) return first->begin <= key ? first + 1 : first;
  const auto same = std::upper_bound(second, heads_.end(), head) - from;
  return std::ranges::upper_bound(first, first + same, key, {}, &Range::begin);
}

bool GrantedRanges::Contains(std::string_view key, std::string_view range_end) const {
  if (key.empty()) return false;
  const bool is_open = IsOpenEnd(range_end);
  if (!range_end.empty() && !is_open && range_end < key) return false;
  const auto behind = FirstBehind(key);
  if (behind == ranges_.begin()) return false;
  const Range& range = *std::prev(behind);
  if (range.open) return true;
  if (is_open) return false;
  return range_end.empty() || range_end == key ? range.end > key : range.end >= range_end;
}

PermissionSet::PermissionSet(std::span<const Permission* const> permissions) {
  std::vector<GrantedRanges::Range> read;
  std::vector<GrantedRanges::Range> write;
  for (const Permission* permission : permissions) {
    if (!IsValidRange(permission->key, permission->range_end)) continue;
    if (AllowsRead(permission->type)) read.push_back(ToRange(*permission));
    if (AllowsWrite(permission->type)) write.push_back(ToRange(*permission));
  }
  read_ = GrantedRanges(std::move(read));
  write_ = GrantedRanges(std::move(write));
}

}  // namespace kvorum::auth
