#include "archive/ship/history_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "archive/ship/archive_reader.h"
#include "base/digest/sha256.h"

namespace kvorum::archive {
namespace {

HistoryId ParentOf(const HistoryRecord& record) {
  return record.parent ? record.parent->history : HistoryId{0};
}

bool IsOlder(const HistoryRecord& a, const HistoryRecord& b) {
  return std::pair(a.began_ms, a.id) < std::pair(b.began_ms, b.id);
}

// The newest of those that no other of them names as its parent; null if there is none.
const HistoryRecord* HeadOf(const std::vector<HistoryRecord>& records) {
  const HistoryRecord* head = nullptr;
  for (const HistoryRecord& one : records) {
    const bool is_left = std::ranges::any_of(
        records, [&](const HistoryRecord& other) { return ParentOf(other) == one.id; });
    if (!is_left && (head == nullptr || IsOlder(*head, one))) head = &one;
  }
  return head;
}

// The root and all that go on from it.
std::vector<HistoryRecord> FamilyOf(const std::vector<HistoryRecord>& records,
                                    const HistoryRecord& root) {
  std::vector<HistoryRecord> family = {root};
  std::set<HistoryId> seen = {root.id};
  for (std::size_t i = 0; i < family.size(); ++i) {
    const HistoryId parent = family[i].id;
    for (const HistoryRecord& one : records) {
      if (ParentOf(one) == parent && seen.insert(one.id).second) family.push_back(one);
    }
  }
  return family;
}

ShipResult<HistoryChoice> HeadAmong(const std::vector<HistoryRecord>& records) {
  const HistoryRecord* head = HeadOf(records);
  if (head == nullptr)
    return ShipFail(ShipErrorKind::kRefused, "the archive's histories name each other as parents");
  return HistoryChoice{.record = *head, .is_there = true};
}

// The key, term and bytes decide, whatever the rest of the object says.
Result<raft::Entry> OwnEntry(ArchivedMember& member, raft::Index index) {
  KV_TRY(std::vector<raft::Entry> entries, member.Read(index, index, 1));
  if (entries.size() != 1 || entries.front().index != index)
    return Fail(Code::kInternal,
                fmt::format("the log did not give its entry {}", index.value()));
  return std::move(entries.front());
}

// The entries behind what the log no longer has cannot be compared; their terms can.
ShipResult<void> CompareTerms(ArchivedMember& member, raft::Index applied, PlaceFinding& finding) {
  KV_TRY(const raft::Index first, member.FirstIndex());
  if (first > applied) return {};
  KV_TRY(const raft::Entry entry, OwnEntry(member, first));
  if (entry.term >= finding.place.term) return {};
  finding.fit = PlaceFinding::Fit::kDiffers;
  finding.text = fmt::format(
      "this member's entry {} has term {}, and the archive's entry {} before it the later term {}",
      first.value(), entry.term.value(), finding.place.end.last.value(),
      finding.place.term.value());
  return {};
}

// Compares with the archive's last entry, whose bytes are given if they are known.
ShipResult<void> CompareLast(ArchivedMember& member, raft::Index last, const raft::Entry* theirs,
                             PlaceFinding& finding) {
  const raft::Index applied = member.NewestMark().index;
  const raft::Index end = std::max(last, finding.place.end.last);
  if (end > applied) {
    finding.fit = PlaceFinding::Fit::kAhead;
    finding.text = fmt::format("the archive has entries up to {}, and this member only up to {}",
                               end.value(), applied.value());
    return {};
  }
  if (last == 0 || finding.place.term == 0) return {};
  const auto own = OwnEntry(member, last);
  if (!own && own.error().code == Code::kNotFound) return CompareTerms(member, applied, finding);
  if (!own) return std::unexpected(own.error());
  if (own->term == finding.place.term && (theirs == nullptr || *own == *theirs)) return {};
  finding.fit = PlaceFinding::Fit::kDiffers;
  finding.text =
      fmt::format("the archive's entry {} is not this member's: the archive is of other data",
                  last.value());
  return {};
}

ShipResult<LogPlace> FindPlaceByMark(ObjectStore& store, HistoryId history,
                                     const std::optional<Mark>& mark) {
  std::string from;
  if (mark) {
    const auto key = ParseKey(mark->last_object);
    const auto* log = key ? std::get_if<LogName>(&key->name) : nullptr;
    if (log != nullptr && key->history == history) from = mark->last_object;
  }
  KV_TRY(LogPlace found, FindLogPlace(store, history, from));
  if (found.log && !from.empty() && KeyText({.history = history, .name = *found.log}) == from) {
    // Nothing says yet that it is still there.
    const auto head = store.Head(from);
    if (head.has_value()) return found;
    if (head.error().kind != StoreErrorKind::kAbsent) return std::unexpected(head.error());
    return FindLogPlace(store, history, {});
  }
  return found;
}

}  // namespace

HistoryId HistoryIdOf(HistoryId parent, std::uint64_t cluster_id, std::string_view reason,
                      raft::Index fork) {
  Sha256 digest;
  digest.Add(fmt::format("{:016x} {:016x} {} {}", parent.value(), cluster_id, reason,
                         fork.value()));
  const std::string bytes = digest.Finish();
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < sizeof(id); ++i)
    id = id << 8U | static_cast<unsigned char>(bytes[i]);
  return HistoryId{id == 0 ? std::uint64_t{1} : id};
}

ShipResult<HistoryChoice> ChooseHistory(const std::vector<HistoryRecord>& records,
                                        const ArchivedMember::Identity& identity, raft::Index first,
                                        UnixMillis now_ms) {
  std::vector<HistoryRecord> ours;
  std::ranges::copy_if(records, std::back_inserter(ours), [&](const HistoryRecord& record) {
    return record.cluster_id == identity.cluster_id;
  });
  HistoryRecord begun = {.cluster_id = identity.cluster_id, .began_ms = now_ms, .first = first};
  if (!identity.departure) {
    if (!ours.empty()) return HeadAmong(ours);
    begun.reason = "new";
    begun.id = HistoryIdOf(0, begun.cluster_id, begun.reason, 0);
    return HistoryChoice{.record = std::move(begun)};
  }
  const Departure& departure = *identity.departure;
  const raft::Index fork = departure.origin.index;
  for (const HistoryRecord& record : ours) {
    const HistoryId parent = ParentOf(record);
    const bool is_parents =
        departure.origin.history == 0 || departure.origin.history == parent;
    if (is_parents && record.reason == departure.reason &&
        record.id == HistoryIdOf(parent, begun.cluster_id, record.reason, fork))
      return HeadAmong(FamilyOf(ours, record));
  }
  begun.reason = departure.reason;
  begun.parent = departure.origin;
  if (departure.origin.history == 0) {
    const HistoryRecord* head = HeadOf(ours);
    if (head != nullptr) {
      begun.parent->history = head->id;
    } else {
      begun.parent.reset();
    }
  }
  begun.id = HistoryIdOf(ParentOf(begun), begun.cluster_id, begun.reason, fork);
  return HistoryChoice{.record = std::move(begun)};
}

ShipResult<HistoryRecord> BeginHistory(ObjectStore& store, HistoryRecord record) {
  const std::string key = KeyText({.history = record.id, .name = HistoryFileName{}});
  const auto put = store.Put(key, ToJson(record),
                             {.if_absent = true, .content_type = "application/json"});
  if (put.has_value()) return record;
  if (put.error().kind != StoreErrorKind::kExists) return std::unexpected(put.error());
  KV_TRY(auto there, ReadHistory(store, record.id));
  if (!there) return ShipFail(ShipErrorKind::kStore, key + ": it was deleted meanwhile");
  if (there->cluster_id != record.cluster_id || there->reason != record.reason ||
      there->parent != record.parent)
    return ShipFail(ShipErrorKind::kRefused, key + ": it is the record of other data");
  return *std::move(there);
}

ShipResult<PlaceFinding> FindPlace(ObjectStore& store, ArchivedMember& member,
                                   const HistoryRecord& history) {
  PlaceFinding finding;
  ShipPlace& place = finding.place;
  place.history = history;
  place.time_ms = history.began_ms;
  place.end.last = history.first - std::min<std::uint64_t>(history.first.value(), 1);
  KV_TRY(const auto mark, ReadMark(store, history.id));
  KV_TRY(const LogPlace found, FindPlaceByMark(store, history.id, mark));
  if (found.gap) place.gap_to = found.gap->to;
  if (!found.log) {
    raft::Index last = 0;
    if (mark && mark->index >= history.first) {
      last = mark->index;
      place.term = mark->term;
      place.revision = mark->revision;
      place.end.last = std::max(place.end.last, last);
    }
    place.end.last = std::max(place.end.last, place.gap_to);
    KV_RETURN_IF_ERROR(CompareLast(member, last, nullptr, finding));
    return finding;
  }
  const ObjectKey key = {.history = history.id, .name = *found.log};
  KV_TRY(const std::string bytes, ReadObject(store, KeyText(key), kMaxObjectBytes));
  const auto content = ReadLogObject(key, bytes);
  if (!content) {
    finding.fit = PlaceFinding::Fit::kUnreadable;
    finding.text = content.error().message;
    return finding;
  }
  place.end = {.key = KeyText(key), .last = found.log->last, .crc = content->header.end_crc};
  place.term = content->header.last_term;
  place.revision = found.log->revision;
  place.time_ms = std::max(place.time_ms, found.log->time_ms);
  place.end.last = std::max(place.end.last, place.gap_to);
  KV_RETURN_IF_ERROR(CompareLast(member, found.log->last, &content->entries.back(), finding));
  return finding;
}

ShipResult<Origin> FindFork(ObjectStore& store, ArchivedMember& member,
                            const HistoryRecord& history) {
  const Origin beginning = {.history = history.id, .index = 0, .revision = 0};
  const TimeMark applied = member.NewestMark();
  std::optional<LogName> holder;
  KV_RETURN_IF_ERROR(
      store.List({.prefix = LogPrefix(history.id), .after = {}},
                 [&](std::string_view text, std::uint64_t) {
                   const auto key = ParseKey(text);
                   const auto* log = key ? std::get_if<LogName>(&key->name) : nullptr;
                   if (log != nullptr && log->first <= applied.index && log->last >= applied.index)
                     holder = *log;
                   return !holder;
                 }));
  if (!holder) return beginning;
  const ObjectKey key = {.history = history.id, .name = *holder};
  KV_TRY(const std::string bytes, ReadObject(store, KeyText(key), kMaxObjectBytes));
  const auto content = ReadLogObject(key, bytes);
  const auto own = OwnEntry(member, applied.index);
  if (!content || !own || content->entries[applied.index - holder->first] != *own) return beginning;
  return Origin{.history = history.id, .index = applied.index, .revision = applied.revision};
}

}  // namespace kvorum::archive
