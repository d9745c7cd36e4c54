#include "mvcc/index/key_entry.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace kvorum::mvcc::index {

EntryRevision RevisionAt(const Entry& entry, std::uint32_t number) {
  if (number == entry.past_length()) return {entry.revision(), entry.tombstone()};
  const HistoryRecord& record = entry.past().history->records()[number];
  return {{record.main, record.sub}, record.tombstone()};
}

std::optional<std::uint32_t> FindAtOrBefore(const Entry& entry, std::int64_t revision) {
  if (entry.main() <= revision) return entry.past_length();
  if (entry.form() != Entry::kWithPast) return std::nullopt;
  const HistoryRecord* begin = entry.past().history->records();
  const HistoryRecord* end = begin + entry.past().length;
  const auto* above = std::upper_bound(
      begin, end, revision,
      [](std::int64_t main, const HistoryRecord& record) { return main < record.main; });
  if (above == begin) return std::nullopt;
  return static_cast<std::uint32_t>(above - begin - 1);
}

Entry::Origin OriginOf(const Entry& entry, std::uint32_t number) {
  if (number == entry.past_length()) return {entry.created(), entry.version()};
  const History& history = *entry.past().history;
  const std::uint32_t position = history.records()[number].position();
  if (position >= number) {  // the generation of the first record
    return {history.first_created, history.first_version + number};
  }
  return {history.records()[number - position].main, std::int64_t{position} + 1};
}

bool LookUp(const Entry& entry, std::int64_t revision, IndexItem& item) {
  if (entry.main() <= revision) {
    if (entry.tombstone()) return false;
    item = {entry.key(), entry.revision(), entry.created(), entry.version()};
    return true;
  }
  const auto number = FindAtOrBefore(entry, revision);
  if (!number.has_value()) return false;
  const EntryRevision found = RevisionAt(entry, *number);
  if (found.tombstone) return false;
  const Entry::Origin origin = OriginOf(entry, *number);
  item = {entry.key(), found.revision, origin.created, origin.version};
  return true;
}

std::int64_t LowestCompaction(const Entry& entry) {
  const EntryRevision first = RevisionAt(entry, 0);
  std::int64_t lowest = first.tombstone ? first.revision.main + 1 : kNever;
  if (RevisionCount(entry) > 1) lowest = std::min(lowest, RevisionAt(entry, 1).revision.main);
  return lowest;
}

std::uint32_t FirstKept(const Entry& entry, std::int64_t revision) {
  const auto newest = FindAtOrBefore(entry, revision);
  if (!newest.has_value()) return 0;
  const EntryRevision found = RevisionAt(entry, *newest);
  return found.tombstone && found.revision.main < revision ? *newest + 1 : *newest;
}

void Entry::SetNewest(Revision revision, bool tombstone) {
  std::uint64_t fixed = (word & (kFormMask | kWideBit)) | (tombstone ? kTombstoneBit : 0U) |
                        std::uint64_t{key_bytes()} << kSizeShift;
  if (is_wide()) {
    wide() = {.main = revision.main, .sub = static_cast<std::uint32_t>(revision.sub), .unused = 0};
  } else {
    fixed |= static_cast<std::uint64_t>(revision.sub) << kSubShift |
             static_cast<std::uint64_t>(revision.main) << kMainShift;
  }
  word = fixed;
}

Entry* NewEntry(Arena& arena, Entry::Form form, Revision newest, bool tombstone,
                std::string_view key) {
  KV_CHECK(key.size() <= Entry::kMaxKeyBytes, "a key is larger than any request may be");
  const bool is_wide = !Entry::IsNarrow(key.size(), newest);
  auto* entry = static_cast<Entry*>(arena.Allocate(Entry::SizeBytes(is_wide, form, key.size())));
  entry->word =
      form | (is_wide ? Entry::kWideBit : 0U) | std::uint64_t{key.size()} << Entry::kSizeShift;
  entry->SetNewest(newest, tombstone);
  if (!key.empty()) std::memcpy(const_cast<char*>(entry->key().data()), key.data(), key.size());
  return entry;
}

History* NewHistory(Arena& arena, std::uint32_t capacity, std::uint64_t birth,
                    Entry::Origin first) {
  auto* history = static_cast<History*>(arena.Allocate(History::SizeBytes(capacity)));
  *history = {.birth = birth,
              .first_created = first.created,
              .first_version = first.version,
              .capacity = capacity,
              .unused = 0};
  return history;
}

HistoryRecord NewestAsRecord(const Entry& entry) {
  std::uint32_t position = 0;
  if (const std::uint32_t length = entry.past_length(); length > 0) {
    const HistoryRecord& before = entry.past().history->records()[length - 1];
    if (!before.tombstone()) position = before.position() + 1;
  }
  const Revision newest = entry.revision();
  return {.main = newest.main,
          .sub = static_cast<std::uint32_t>(newest.sub),
          .place = position | (entry.tombstone() ? HistoryRecord::kTombstoneBit : 0U)};
}

}  // namespace kvorum::mvcc::index
