#include "mvcc/store/range_query.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/key_range.h"

namespace kvorum::mvcc {
namespace {

using Direction = IndexCursor::Direction;

bool PassesFilters(const RangeRequest& request, const IndexItem& item) {
  const std::int64_t mod = item.modified.main;
  return (request.max_mod_revision == 0 || mod <= request.max_mod_revision) &&
         (request.min_mod_revision == 0 || mod >= request.min_mod_revision) &&
         (request.max_create_revision == 0 || item.created <= request.max_create_revision) &&
         (request.min_create_revision == 0 || item.created >= request.min_create_revision);
}

bool HasFilters(const RangeRequest& request) {
  return request.max_mod_revision != 0 || request.min_mod_revision != 0 ||
         request.max_create_revision != 0 || request.min_create_revision != 0;
}

Result<KeyValue> FindAndDecode(const RangeScope& scope, Revision revision) {
  KV_TRY(const std::string_view bytes, scope.records->Find(revision));
  return DecodeKeyValue(bytes);
}

// Makes rows from index items.
class RowMaker {
 public:
  RowMaker(const RangeScope& scope, const RangeRequest& request, RowSink& sink)
      : scope_(scope),
        sink_(sink),
        // Keys alone come from the index, except when the order needs the values anyway: then the
        // lease stays.
        from_index_(request.keys_only && request.sort_target != SortTarget::kValue),
        drop_value_(request.keys_only) {}

  Result<void> Add(const IndexItem& item) {
    if (from_index_) return AddRow(item, {});
    KV_TRY(const std::string_view encoded, scope_.records->Find(item.modified));
    return AddRow(item, encoded);
  }

  // At most RecordSource::kMostAtOnce.
  Result<void> Add(std::span<const IndexItem> items) {
    if (from_index_) {
      for (const IndexItem& item : items) KV_RETURN_IF_ERROR(AddRow(item, {}));
      return {};
    }
    std::array<Revision, RecordSource::kMostAtOnce> revisions;
    std::array<std::string_view, RecordSource::kMostAtOnce> encoded;
    std::ranges::transform(items, revisions.begin(), &IndexItem::modified);
    for (auto left = std::span(revisions).first(items.size()); !left.empty();) {
      KV_TRY(const std::size_t found, scope_.records->FindFirst(left, encoded));
      for (std::size_t i = 0; i < found; ++i) KV_RETURN_IF_ERROR(AddRow(items[i], encoded[i]));
      left = left.subspan(found);
      items = items.subspan(found);
    }
    return {};
  }

 private:
  Result<void> AddRow(const IndexItem& item, std::string_view encoded) {
    if (drop_value_ && !from_index_) {
      KV_TRY(encoded, WithoutValue(encoded));
    }
    return sink_.Add({.key = item.key,
                      .create_revision = item.created,
                      .mod_revision = item.modified.main,
                      .version = item.version,
                      .encoded = encoded});
  }

  Result<std::string_view> WithoutValue(std::string_view encoded) {
    KV_TRY(KeyValue kv, DecodeKeyValue(encoded));
    kv.value = {};
    without_value_ = Encode(kv);
    return std::string_view(without_value_);
  }

  const RangeScope& scope_;
  RowSink& sink_;
  const bool from_index_;
  const bool drop_value_;
  std::string without_value_;
};

// Rows in key order, ascending or descending: only as many are collected as are looked up at once.
class KeyOrderedRange {
 public:
  KeyOrderedRange(const RangeScope& scope, const RangeRequest& request, std::int64_t revision,
                  RowSink& sink)
      : scope_(scope), request_(request), revision_(revision), rows_(scope, request, sink) {}

  // Returns true if the limit has cut rows off.
  Result<bool> Run(Direction direction) {
    const KeyRange range(request_.key, request_.range_end);
    std::array<IndexItem, RecordSource::kMostAtOnce> items;
    std::size_t collected = 0;
    std::int64_t found = 0;
    bool more = false;
    for (auto cursor = scope_.index.Cursor(range, revision_, direction); cursor.valid();
         cursor.Next()) {
      if (!PassesFilters(request_, cursor.item())) continue;
      more = request_.limit > 0 && found == request_.limit;
      if (more) break;
      ++found;
      items[collected++] = cursor.item();
      if (collected == items.size())
        KV_RETURN_IF_ERROR(rows_.Add(std::span(items).first(std::exchange(collected, 0))));
    }
    KV_RETURN_IF_ERROR(rows_.Add(std::span(items).first(collected)));
    return more;
  }

 private:
  const RangeScope& scope_;
  const RangeRequest& request_;
  const std::int64_t revision_;
  RowMaker rows_;
};

// Rows in another order: the range's items are collected, with a limit never more than twice as
// many as it allows. Equal ones stay in key order.
class SortedRange {
 public:
  SortedRange(const RangeScope& scope, const RangeRequest& request, std::int64_t revision,
              RowSink& sink)
      : scope_(scope),
        request_(request),
        revision_(revision),
        before_{.descending = request.sort_order == SortOrder::kDescend},
        // QUIRK: without an explicit order, limit and one more are taken in key order, then sorted.
        take_(request.sort_order == SortOrder::kNone && !HasFilters(request) && request.limit > 0
                  ? std::optional(request.limit)
                  : std::nullopt),
        sink_(sink),
        rows_(scope, request, sink) {}

  // `count` is that of the whole range.
  Result<bool> Run(std::int64_t count) {
    most_ = static_cast<std::size_t>(
        request_.limit > 0 && request_.limit < count / 2 ? 2 * request_.limit + 2 : count);
    Result<bool> more = CollectAndSort();
    if (items_.capacity() > 0) sink_.EndBlock(items_.capacity() * sizeof(Item));
    return more;
  }

 private:
  Result<bool> CollectAndSort() {
    const KeyRange range(request_.key, request_.range_end);
    std::int64_t found = 0;
    for (auto cursor = scope_.index.Cursor(range, revision_); cursor.valid(); cursor.Next()) {
      if (!PassesFilters(request_, cursor.item())) continue;
      KV_RETURN_IF_ERROR(Collect(cursor.item()));
      ++found;
      if (take_ && found > *take_) break;
    }
    const std::size_t kept = Cut();
    std::array<IndexItem, RecordSource::kMostAtOnce> items;
    for (std::size_t at = 0; at < kept;) {
      const std::size_t count = std::min(items.size(), kept - at);
      std::ranges::transform(std::span(items_).subspan(at, count), items.begin(), &Item::index);
      KV_RETURN_IF_ERROR(rows_.Add(std::span(items).first(count)));
      at += count;
    }
    return request_.limit > 0 && found > request_.limit;
  }

  struct Item {
    IndexItem index;
    std::int64_t number;  // the sort key, or
    std::string_view value;
  };
  struct Before {
    bool descending;
    bool operator()(const Item& a, const Item& b) const {
      if (a.number != b.number) return (a.number < b.number) != descending;
      if (const int order = a.value.compare(b.value); order != 0) return (order < 0) != descending;
      return a.index.key < b.index.key;
    }
  };

  Result<void> Collect(const IndexItem& index) {
    Item item{.index = index, .number = 0, .value = {}};
    switch (request_.sort_target) {
      case SortTarget::kKey:
        break;
      case SortTarget::kVersion:
        item.number = index.version;
        break;
      case SortTarget::kCreate:
        item.number = index.created;
        break;
      case SortTarget::kMod:
        item.number = index.modified.main;
        break;
      case SortTarget::kValue: {
        KV_TRY(const KeyValue kv, FindAndDecode(scope_, index.modified));
        item.value = kv.value;
        break;
      }
    }
    if (items_.size() == items_.capacity()) KV_RETURN_IF_ERROR(Grow());
    items_.push_back(item);
    if (request_.limit > 0 && items_.size() / 2 > static_cast<std::uint64_t>(request_.limit)) {
      const auto limit = items_.begin() + request_.limit;
      std::nth_element(items_.begin(), limit, items_.end(), before_);
      items_.erase(limit, items_.end());
    }
    return {};
  }

  Result<void> Grow() {
    constexpr std::size_t kFewItems = 128;
    const std::size_t before = items_.capacity();
    const std::size_t after =
        std::max(before + 1, std::min(std::max(2 * before, kFewItems), most_));
    KV_RETURN_IF_ERROR(sink_.BeginBlock(after * sizeof(Item)));
    items_.reserve(after);
    if (before > 0) sink_.EndBlock(before * sizeof(Item));
    return {};
  }

  // Sorts the rows to return to the front and returns their number.
  std::size_t Cut() {
    const bool all =
        request_.limit <= 0 || static_cast<std::uint64_t>(request_.limit) >= items_.size();
    const auto end = all ? items_.end() : items_.begin() + request_.limit;
    std::partial_sort(items_.begin(), end, items_.end(), before_);
    return static_cast<std::size_t>(end - items_.begin());
  }

  const RangeScope& scope_;
  const RangeRequest& request_;
  const std::int64_t revision_;
  const Before before_;
  const std::optional<std::int64_t> take_;
  RowSink& sink_;
  RowMaker rows_;
  std::size_t most_ = 0;  // items that are held at once
  std::vector<Item> items_;
};

// The common case, without a cursor.
Result<RangeSummary> RunSingle(const RangeScope& scope, const RangeRequest& request,
                               std::int64_t revision, RowSink& sink) {
  RangeSummary summary{.revision = scope.current_revision};
  const std::optional<IndexItem> item = scope.index.Get(request.key, revision);
  if (!item) return summary;
  summary.count = 1;
  if (!request.count_only && PassesFilters(request, *item)) {
    KV_RETURN_IF_ERROR(RowMaker(scope, request, sink).Add(*item));
  }
  return summary;
}

// The revision that the range is read at.
Result<std::int64_t> RevisionOf(const RangeScope& scope, const RangeRequest& request) {
  if (request.revision > scope.current_revision) return kErrFutureRev.Fail();
  const std::int64_t revision = request.revision > 0 ? request.revision : scope.current_revision;
  if (revision < scope.compact_revision) return kErrCompacted.Fail();
  return revision;
}

template <class T>
bool Satisfies(CompareResult wanted, const T& actual, const T& given) {
  switch (wanted) {
    case CompareResult::kEqual:
      return actual == given;
    case CompareResult::kNotEqual:
      return actual != given;
    case CompareResult::kGreater:
      return actual > given;
    case CompareResult::kLess:
      return actual < given;
  }
  return true;  // QUIRK: as etcd takes an unknown result
}

Result<bool> HoldsFor(const RangeScope& scope, const Compare& compare, const IndexItem& item) {
  switch (compare.target) {
    case CompareTarget::kVersion:
      return Satisfies(compare.result, item.version, compare.number);
    case CompareTarget::kCreate:
      return Satisfies(compare.result, item.created, compare.number);
    case CompareTarget::kMod:
      return Satisfies(compare.result, item.modified.main, compare.number);
    case CompareTarget::kValue: {
      KV_TRY(const KeyValue kv, FindAndDecode(scope, item.modified));
      return Satisfies(compare.result, kv.value, compare.value);
    }
    case CompareTarget::kLease: {
      KV_TRY(const KeyValue kv, FindAndDecode(scope, item.modified));
      return Satisfies(compare.result, kv.lease, compare.number);
    }
  }
  return Satisfies(compare.result, 0, 0);  // QUIRK: an unknown target is equal to everything
}

bool HoldsForMissing(const Compare& compare) {
  switch (compare.target) {
    case CompareTarget::kVersion:
    case CompareTarget::kCreate:
    case CompareTarget::kMod:
    case CompareTarget::kLease:
      return Satisfies<std::int64_t>(compare.result, 0, compare.number);
    case CompareTarget::kValue:
      return false;
  }
  return Satisfies(compare.result, 0, 0);
}

}  // namespace

Result<std::size_t> RecordSource::FindFirst(std::span<const Revision> revisions,
                                            std::span<std::string_view> found) {
  KV_TRY(found[0], Find(revisions[0]));
  return 1;
}

Error MissingRecord(Revision revision) {
  return {Code::kDataLoss, "mvcc: the record of revision " + std::to_string(revision.main) + "." +
                               std::to_string(revision.sub) + " is missing"};
}

Result<RangeSummary> RunRange(const RangeScope& scope, const RangeRequest& request, RowSink& sink) {
  KV_TRY(const std::int64_t revision, RevisionOf(scope, request));
  const KeyRange range(request.key, request.range_end);
  if (range.single()) return RunSingle(scope, request, revision, sink);

  RangeSummary summary{.count = scope.index.Count(range, revision),
                       .more = false,
                       .revision = scope.current_revision};
  if (request.count_only || summary.count == 0) return summary;
  if (request.sort_target != SortTarget::kKey) {
    KV_TRY(summary.more, SortedRange(scope, request, revision, sink).Run(summary.count));
  } else {
    const bool down = request.sort_order == SortOrder::kDescend;
    KV_TRY(summary.more, KeyOrderedRange(scope, request, revision, sink)
                             .Run(down ? Direction::kDown : Direction::kUp));
  }
  return summary;
}

Result<void> RunRows(const RangeScope& scope, const RangeRequest& request, RowSink& sink) {
  KV_TRY(const std::int64_t revision, RevisionOf(scope, request));
  if (KeyRange(request.key, request.range_end).single()) {
    KV_RETURN_IF_ERROR(RunSingle(scope, request, revision, sink));
    return {};
  }
  const bool down = request.sort_order == SortOrder::kDescend;
  KV_RETURN_IF_ERROR(KeyOrderedRange(scope, request, revision, sink)
                         .Run(down ? Direction::kDown : Direction::kUp));
  return {};
}

std::int64_t EstimateRows(const RangeScope& scope, const RangeRequest& request,
                          std::int64_t enough) {
  const KeyRange range(request.key, request.range_end);
  if (range.single()) return 1;
  const bool newest = request.revision <= 0 || request.revision == scope.current_revision;
  if (!newest) return scope.index.CountExamined(range, request.revision, enough);
  if (request.count_only) return 1;
  const std::int64_t live = scope.index.Count(range, 0);
  const bool page = request.sort_target == SortTarget::kKey && !HasFilters(request);
  if (page && request.limit > 0) return std::min(live, request.limit);
  return live;
}

Result<bool> Holds(const RangeScope& scope, const Compare& compare) {
  const KeyRange range(compare.key, compare.range_end);
  if (range.single()) {
    const std::optional<IndexItem> item = scope.index.Get(compare.key, scope.current_revision);
    return item ? HoldsFor(scope, compare, *item) : HoldsForMissing(compare);
  }
  auto cursor = scope.index.Cursor(range, scope.current_revision);
  if (!cursor.valid()) return HoldsForMissing(compare);
  for (; cursor.valid(); cursor.Next()) {
    KV_TRY(const bool holds, HoldsFor(scope, compare, cursor.item()));
    if (!holds) return false;
  }
  return true;
}

}  // namespace kvorum::mvcc
