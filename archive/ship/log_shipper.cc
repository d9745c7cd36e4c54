#include "archive/ship/log_shipper.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "archive/format/frame.h"
#include "archive/ship/archive_reader.h"
#include "base/log/logging.h"

namespace kvorum::archive {
namespace {

static_assert(kMaxFrameBytes == kMaxObjectBytes, "an object is stored by one request");

constexpr Duration kMarkEvery = std::chrono::seconds(10);
// A follower looks for new histories so often.
constexpr Duration kChooseEvery = std::chrono::minutes(1);
// A new leader may have to apply what its predecessor archived. It is given up after so long
// without progress.
constexpr Duration kAheadFor = std::chrono::seconds(30);
constexpr std::size_t kReadBytes = std::size_t{4} << 20;

// The times of the marks up to `last`, and what `last` has by the rules of the header. None is
// before the place's, and neither are revisions.
std::vector<TimeMark> TimesUpTo(const std::vector<TimeMark>& marks, raft::Index last,
                                const ShipPlace& place) {
  std::vector<TimeMark> times;
  UnixMillis time_ms = place.time_ms;
  std::int64_t revision = place.revision;
  for (const TimeMark& mark : marks) {
    time_ms = std::max(time_ms, mark.time_ms);
    if (mark.index > last) break;
    revision = std::max(revision, mark.revision);
    times.push_back({.index = mark.index, .time_ms = time_ms, .revision = revision});
  }
  if (times.empty() || times.back().index != last)
    times.push_back({.index = last, .time_ms = time_ms, .revision = revision});
  return times;
}

// The last mark that the entries reach, or their end if they reach none.
raft::Index EndOf(const std::vector<TimeMark>& marks, raft::Index last) {
  raft::Index end = 0;
  for (const TimeMark& mark : marks) {
    if (mark.index <= last) end = mark.index;
  }
  return end == 0 ? last : end;
}

}  // namespace

LogShipper::LogShipper(ArchivedMember& member, const Clock& clock, const StopSignal& stop,
                       ArchiveStatus& status, bool new_history)
    : member_(member), clock_(clock), stop_(stop), status_(status), new_history_(new_history) {}

std::optional<LogShipper::Line> LogShipper::line() const {
  if (!place_) return std::nullopt;
  const raft::Index first = place_->history.first;
  return Line{.history = place_->history,
              .time_ms = place_->time_ms,
              .applied = member_.NewestMark().index,
              .least_base = std::max(place_->gap_to, first == 0 ? first : first - 1)};
}

void LogShipper::UpdateLag() {
  if (!member_.IsLeader()) {
    status_.lag_ms = 0;
    return;
  }
  const auto marks = member_.MarksBehind(archived_, 1);
  status_.lag_ms = marks.empty() ? 0 : std::max<std::int64_t>(0, WallMillis() - marks[0].time_ms);
}

ShipResult<void> LogShipper::Step(ObjectStore& store) {
  UpdateLag();
  if (!member_.IsLeader()) {
    place_.reset();
    newest_base_.reset();
    ahead_since_.reset();
    return Follow(store);
  }
  followed_.reset();
  last_choice_.reset();
  auto done = Lead(store);
  if (!done.has_value()) place_.reset();
  UpdateLag();
  return done;
}

ShipResult<void> LogShipper::Follow(ObjectStore& store) {
  const TimePoint now = clock_.Now();
  if (last_choice_ && last_mark_ && now - *last_mark_ < kMarkEvery) return {};
  if (!followed_ || !last_choice_ || now - *last_choice_ >= kChooseEvery) {
    KV_TRY(const auto records, ReadHistories(store));
    const raft::Index next = member_.NewestMark().index + 1;
    KV_TRY(const auto choice, ChooseHistory(records, member_.identity(), next, WallMillis()));
    followed_.reset();
    if (choice.is_there) followed_ = choice.record.id;
    last_choice_ = now;
  }
  last_mark_ = now;
  ArchiveStatus::Values values = status_.values();
  values.state = ShipState::kFollowing;
  values.error.clear();
  if (followed_) {
    values.history = *followed_;
    KV_TRY(const auto mark, ReadMark(store, *followed_));
    if (mark) {
      values.archived = {
          .index = mark->index, .revision = mark->revision, .time_ms = mark->time_ms};
      archived_ = mark->index;
      member_.KeepBehind(std::max(mark->index, raft::Index{1}));
    }
  } else {
    member_.KeepBehind(0);
  }
  status_.Set(std::move(values));
  return {};
}

ShipResult<void> LogShipper::Lead(ObjectStore& store) {
  if (!place_) KV_RETURN_IF_ERROR(Begin(store));
  if (!place_) return {};
  while (member_.IsLeader()) {
    if (stop_.stopped()) return ShipFail(ShipErrorKind::kStopped, "stopped");
    if (clock_.Now() - last_mark_.value_or(began_) >= kMarkEvery)
      KV_RETURN_IF_ERROR(WriteMark(store));
    KV_TRY(const bool shipped, ShipOne(store));
    if (!place_) return {};
    if (!shipped) break;
    Publish(ShipState::kArchiving);
    member_.KeepBehind(std::max(place_->end.last, raft::Index{1}));
    UpdateLag();
  }
  if (!member_.IsLeader()) return {};
  if (!last_mark_) KV_RETURN_IF_ERROR(WriteMark(store));
  Publish(ShipState::kArchiving);
  member_.KeepBehind(std::max(place_->end.last, raft::Index{1}));
  return {};
}

// Sets the place, unless the archive is ahead by what may still come.
ShipResult<void> LogShipper::Begin(ObjectStore& store) {
  KV_TRY(const PlaceFinding finding, FindOwnPlace(store));
  if (finding.fit == PlaceFinding::Fit::kAhead && MayStillCome()) return {};
  if (finding.fit == PlaceFinding::Fit::kFits) {
    ahead_since_.reset();
    place_ = finding.place;
  } else if (new_history_) {
    KV_TRY(const HistoryRecord asked, BeginAsked(store, finding.place.history));
    KV_TRY(const PlaceFinding begun, FindPlace(store, member_, asked));
    if (begun.fit != PlaceFinding::Fit::kFits) return ShipFail(ShipErrorKind::kRefused, begun.text);
    place_ = begun.place;
  } else {
    member_.KeepBehind(0);
    return ShipFail(ShipErrorKind::kRefused,
                    fmt::format("{}: history {} is not gone on with: {}; a new history is begun "
                                "with --archive-new-history",
                                store.name(), HistoryText(finding.place.history.id), finding.text));
  }
  // The entries of a new history have at least the revision that it began with.
  const TimeMark newest = member_.NewestMark();
  if (place_->revision == 0 && newest.index <= place_->end.last) place_->revision = newest.revision;
  archived_ = place_->end.last;
  last_mark_.reset();
  began_ = clock_.Now();
  KV_TRY(newest_base_, FindNewestBase(store, place_->history.id));
  KV_INFO("archiving the log", {"archive", store.name()},
          {"history", HistoryText(place_->history.id)}, {"reason", place_->history.reason},
          {"archived-index", place_->end.last}, {"applied-index", newest.index});
  return {};
}

ShipResult<PlaceFinding> LogShipper::FindOwnPlace(ObjectStore& store) {
  KV_TRY(const auto records, ReadHistories(store));
  const raft::Index next = member_.NewestMark().index + 1;
  KV_TRY(auto choice, ChooseHistory(records, member_.identity(), next, WallMillis()));
  HistoryRecord record = std::move(choice.record);
  if (!choice.is_there) {
    KV_TRY(record, BeginHistory(store, std::move(record)));
  }
  return FindPlace(store, member_, record);
}

ShipResult<HistoryRecord> LogShipper::BeginAsked(ObjectStore& store, const HistoryRecord& head) {
  KV_TRY(const Origin fork, FindFork(store, member_, head));
  HistoryRecord record = {.cluster_id = member_.identity().cluster_id,
                          .reason = "asked",
                          .began_ms = WallMillis(),
                          .first = member_.NewestMark().index + 1,
                          .parent = fork};
  record.id = HistoryIdOf(head.id, record.cluster_id, record.reason, fork.index);
  return BeginHistory(store, std::move(record));
}

bool LogShipper::MayStillCome() {
  const raft::Index applied = member_.NewestMark().index;
  if (!ahead_since_ || applied > ahead_applied_) {
    ahead_since_ = clock_.Now();
    ahead_applied_ = applied;
  }
  // It is kept meanwhile: these entries may be the ones that come next.
  member_.KeepBehind(std::max(applied, raft::Index{1}));
  return clock_.Now() - *ahead_since_ < kAheadFor;
}

// Puts one object, or declares one gap; false if there is nothing to ship.
ShipResult<bool> LogShipper::ShipOne(ObjectStore& store) {
  const std::vector<TimeMark> marks = member_.MarksBehind(place_->end.last, kMaxTimes);
  if (marks.empty()) return false;
  const raft::Index from = place_->end.last + 1;
  auto entries = ReadSome(from, marks.back().index);
  if (!entries && entries.error().code == Code::kNotFound) {
    KV_TRY(const raft::Index first, member_.FirstIndex());
    if (first <= from) return std::unexpected(entries.error());
    KV_RETURN_IF_ERROR(DeclareGap(store, first - 1, "the member's log began later"));
    return true;
  }
  if (!entries) return std::unexpected(entries.error());
  if (RoomOf(entries->front()) > MaxEntriesRoom()) {
    KV_RETURN_IF_ERROR(DeclareGap(store, from, "an entry larger than an object may be"));
    return true;
  }
  if (entries->front().term < place_->term)
    return ShipFail(
        ShipErrorKind::kRefused,
        fmt::format("entry {} has an earlier term than the archive's last one", from.value()));
  const raft::Index end = EndOf(marks, entries->back().index);
  entries->resize(end - from + 1);
  const LogObject object =
      MakeLogObject(place_->history.id, place_->end, *entries, TimesUpTo(marks, end, *place_),
                    member_.identity().wal_metadata);
  KV_TRY(const bool is_put, PutObject(store, object.end.key, object.bytes));
  if (!is_put) {
    // Another member has been here: it goes on where the archive stands now.
    place_.reset();
    KV_RETURN_IF_ERROR(Begin(store));
    return place_ && place_->end.last >= from;
  }
  const auto& name = std::get<LogName>(object.key.name);
  place_->end = object.end;
  place_->term = entries->back().term;
  place_->revision = name.revision;
  place_->time_ms = name.time_ms;
  archived_ = object.end.last;
  return true;
}

// False if the archive has another object of that name.
ShipResult<bool> LogShipper::PutObject(ObjectStore& store, const std::string& key,
                                       std::string_view bytes) {
  const auto put = store.Put(key, bytes, {.if_absent = true});
  if (!put.has_value()) {
    if (put.error().kind != StoreErrorKind::kExists) return std::unexpected(put.error());
    KV_TRY(const std::string there, ReadObject(store, key, kMaxObjectBytes));
    return there == bytes;
  }
  status_.log_objects.Add();
  status_.log_bytes.Add(bytes.size());
  return true;
}

ShipResult<void> LogShipper::DeclareGap(ObjectStore& store, raft::Index to,
                                        std::string_view reason) {
  const Gap gap = {.name = {.from = place_->end.last + 1, .to = to},
                   .found_ms = WallMillis(),
                   .reason = std::string(reason)};
  const auto put = store.Put(KeyText({.history = place_->history.id, .name = gap.name}),
                             ToJson(gap), {.if_absent = true, .content_type = "application/json"});
  if (!put.has_value() && put.error().kind != StoreErrorKind::kExists)
    return std::unexpected(put.error());
  status_.gaps.Add();
  KV_ERROR(
      "entries are missing in the archive; a base follows, and nothing between can be restored",
      {"archive", store.name()}, {"from", gap.name.from}, {"to", gap.name.to}, {"reason", reason});
  place_->end.last = to;
  place_->gap_to = to;
  archived_ = to;
  return {};
}

ShipResult<void> LogShipper::WriteMark(ObjectStore& store) {
  const Mark mark = {.time_ms = WallMillis(),
                     .index = place_->end.last,
                     .revision = place_->revision,
                     .term = place_->gap_to == place_->end.last ? raft::Term{0} : place_->term,
                     .member = member_.identity().member_id,
                     .last_object = place_->end.key};
  const std::string key = KeyText({.history = place_->history.id, .name = MarkName{}});
  KV_RETURN_IF_ERROR(store.Put(key, ToJson(mark), {.content_type = "application/json"}));
  last_mark_ = clock_.Now();
  return {};
}

// Entries from `from` on, as many as an object takes, and at least one.
Result<std::vector<raft::Entry>> LogShipper::ReadSome(raft::Index from, raft::Index to) {
  std::vector<raft::Entry> entries;
  std::size_t room = 0;
  while (from <= to && room < kShippedBytes) {
    KV_TRY(std::vector<raft::Entry> more, member_.Read(from, to, kReadBytes));
    if (more.empty())
      return Fail(Code::kInternal, fmt::format("the log gave nothing at entry {}", from.value()));
    for (raft::Entry& entry : more) {
      if (entry.index != from)
        return Fail(Code::kInternal, fmt::format("the log has no entry {}", from.value()));
      room += RoomOf(entry);
      if (room > kShippedBytes && !entries.empty()) return entries;
      entries.push_back(std::move(entry));
      ++from;
    }
  }
  return entries;
}

void LogShipper::Publish(ShipState state) {
  ArchiveStatus::Values values = status_.values();
  values.state = state;
  values.error.clear();
  values.history = place_->history.id;
  const bool is_all = member_.NewestMark().index <= place_->end.last;
  values.archived = {.index = place_->end.last,
                     .revision = place_->revision,
                     .time_ms = is_all ? std::max(WallMillis(), place_->time_ms) : place_->time_ms};
  status_.Set(std::move(values));
}

}  // namespace kvorum::archive
