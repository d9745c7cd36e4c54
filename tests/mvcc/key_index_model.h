// The key index's expected answers, computed the slow and obvious way: a list of all changes per
// key. It never drops anything; only revisions at or above the compacted one may be asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_range.h"
#include "mvcc/index/index_view.h"
#include "mvcc/index/key_index_builder.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

class KeyIndexModel {
 public:
  struct Change {
    Revision revision;
    bool tombstone = false;
    std::int64_t created = 0;
    std::int64_t version = 0;
  };
  struct Item {
    std::string key;
    Change change;
  };

  // The same results as KeyIndex::Put and Tombstone.
  Change Put(const std::string& key, Revision revision) {
    auto& changes = keys_[key];
    Change change{.revision = revision, .created = revision.main, .version = 1};
    if (!changes.empty() && !changes.back().tombstone) {
      change.created = changes.back().created;
      change.version = changes.back().version + 1;
    }
    changes.push_back(change);
    return change;
  }
  std::optional<Revision> Tombstone(const std::string& key, Revision revision) {
    const auto found = keys_.find(key);
    if (found == keys_.end() || found->second.back().tombstone) return std::nullopt;
    const Revision previous = found->second.back().revision;
    found->second.push_back({.revision = revision, .tombstone = true});
    return previous;
  }

  // The newest change with main <= revision, tombstones included.
  const Change* NewestAt(const std::string& key, std::int64_t revision) const {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return nullptr;
    const Change* newest = nullptr;
    for (const Change& change : found->second) {
      if (change.revision.main <= revision) newest = &change;
    }
    return newest;
  }
  std::optional<Change> Get(const std::string& key, std::int64_t revision) const {
    const Change* newest = NewestAt(key, revision);
    if (newest == nullptr || newest->tombstone) return std::nullopt;
    return *newest;
  }
  std::vector<Item> Visit(KeyRange range, std::int64_t revision) const {
    std::vector<Item> items;
    for (const auto& [key, changes] : keys_) {
      if (!range.Contains(key)) continue;
      if (const auto change = Get(key, revision)) items.push_back({key, *change});
    }
    return items;
  }
  bool IsKept(const std::string& key, Revision revision, std::int64_t compact_revision,
              KeepRule rule) const {
    if (revision.main > compact_revision) return true;
    const Change* newest = NewestAt(key, compact_revision);
    if (newest == nullptr || newest->revision != revision) return false;
    if (!newest->tombstone) return true;
    return rule == KeepRule::kCompaction && revision.main == compact_revision;
  }
  // The number of known revisions that a compaction leaves.
  std::uint64_t RevisionsAfterCompaction(std::int64_t compact_revision) const {
    std::uint64_t count = 0;
    for (const auto& [key, changes] : keys_) {
      for (const Change& change : changes) {
        if (IsKept(key, change.revision, compact_revision, KeepRule::kCompaction)) ++count;
      }
    }
    return count;
  }
  // The backend's records after a compaction, in the order of revisions.
  std::vector<KeyIndexBuilder::Record> Records(std::int64_t compact_revision) const {
    std::vector<KeyIndexBuilder::Record> records;
    for (const auto& [key, changes] : keys_) {
      for (const Change& change : changes) {
        if (!IsKept(key, change.revision, compact_revision, KeepRule::kCompaction)) continue;
        records.push_back({.key = key,
                           .revision = change.revision,
                           .create_revision = change.created,
                           .version = change.version,
                           .tombstone = change.tombstone});
      }
    }
    std::sort(records.begin(), records.end(),
              [](const auto& a, const auto& b) { return a.revision < b.revision; });
    return records;
  }
  const std::map<std::string, std::vector<Change>>& keys() const { return keys_; }

 private:
  std::map<std::string, std::vector<Change>> keys_;  // std::string compares bytes as unsigned
};

// The difference between the view and the model at the revision, or nothing. `newest` is the
// view's.
inline std::optional<std::string> Difference(const IndexView& view, const KeyIndexModel& model,
                                             KeyRange range, std::int64_t revision,
                                             std::int64_t newest) {
  const std::int64_t at = revision <= 0 ? newest : std::min(revision, newest);
  const auto expected = model.Visit(range, at);
  const auto equal = [](const IndexItem& item, const KeyIndexModel::Item& other) {
    return item.key == other.key && item.modified == other.change.revision &&
           item.created == other.change.created && item.version == other.change.version;
  };
  std::size_t seen = 0;
  bool same = true;
  view.Visit(range, revision, [&](const IndexItem& item) {
    same = same && seen < expected.size() && equal(item, expected[seen]);
    ++seen;
    return same;
  });
  if (!same || seen != expected.size()) return "Visit differs at its item " + std::to_string(seen);
  seen = 0;
  for (auto cursor = view.Cursor(range, revision, IndexCursor::Direction::kDown);
       same && cursor.valid(); cursor.Next()) {
    ++seen;
    same = seen <= expected.size() && equal(cursor.item(), expected[expected.size() - seen]);
  }
  if (!same || seen != expected.size())
    return "the cursor downwards differs at its item " + std::to_string(seen);
  const std::int64_t count = view.Count(range, revision);
  if (count != static_cast<std::int64_t>(expected.size())) {
    return "Count says " + std::to_string(count) + ", there are " + std::to_string(expected.size());
  }
  if (view.CountExamined(range, revision, std::numeric_limits<std::int64_t>::max()) < count)
    return "CountExamined says less than there is to be seen";
  for (const auto& item : expected) {
    const auto got = view.Get(item.key, revision);
    if (!got.has_value() || !equal(*got, item)) return "Get differs for a key that lives";
  }
  return std::nullopt;
}

}  // namespace kvorum::mvcc
