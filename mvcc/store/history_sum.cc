#include "mvcc/store/history_sum.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/crc32c.h"
#include "base/mix64.h"

namespace kvorum::mvcc {
namespace {

constexpr std::uint64_t kMainFactor = 0x9e3779b97f4a7c15U;
constexpr std::uint64_t kSubFactor = 0xd1342543de82ef95U;

// Each of the last revisions is a point, so that members of which one has applied more than the
// others have an older revision in common, though few revisions come.
constexpr std::int64_t kRecent = 32;

bool IsPoint(std::int64_t revision, std::int64_t newest) {
  return revision % HistorySum::kInterval == 0 || revision > newest - kRecent;
}

}  // namespace

std::uint64_t RecordHash(const RevisionRecord& record) {
  const std::uint64_t content =
      std::uint64_t{Crc32c(0, record.value)} << 32 | (record.value.size() & 0xffffffffU);
  const std::uint64_t place = static_cast<std::uint64_t>(record.revision.main) * kMainFactor +
                              static_cast<std::uint64_t>(record.revision.sub) * kSubFactor +
                              (record.tombstone ? 1 : 0);
  // Without the mixing, sums would be as linear as the checksum is.
  return Mix64(Mix64(place) ^ content);
}

void HistorySum::Begin(std::int64_t revision, std::int64_t compact_revision, bool is_compacted) {
  std::lock_guard lock(mutex_);
  ++epoch_;
  revision_ = revision;
  added_ = 0;
  compact_revision_ = compact_revision;
  is_compacting_ = !is_compacted;
  pass_ = {};
  bases_.clear();
  points_.clear();
}

void HistorySum::Keep(Point point) {
  if (!points_.empty() && points_.back().revision >= point.revision) return;
  if (points_.size() == kMaxPoints) points_.pop_front();
  points_.push_back(point);
}

void HistorySum::Add(const WriteBatch& batch) {
  if (batch.appends.empty()) return;
  // Only this executor changes the two, so that the hashes need no lock.
  Point last{.revision = revision_, .added = added_};
  std::vector<Point> passed;
  std::int64_t newest = revision_;
  for (const auto& span : batch.appends) {
    if (!span.empty()) newest = span.back().revision.main;
  }
  for (const auto& span : batch.appends) {
    for (const RevisionRecord& record : span) {
      if (record.revision.main != last.revision) {
        if (IsPoint(last.revision, newest)) passed.push_back(last);
        last.revision = record.revision.main;
      }
      last.added += RecordHash(record);
    }
  }
  std::lock_guard lock(mutex_);
  // The points that are no longer recent are among the last kRecent + 1; all before are multiples.
  const auto tail = points_.end() - std::min<std::ptrdiff_t>(std::ssize(points_), kRecent + 1);
  points_.erase(
      std::remove_if(tail, points_.end(),
                     [&](const Point& point) { return !IsPoint(point.revision, newest); }),
      points_.end());
  for (const Point& point : passed) Keep(point);
  Keep(last);
  revision_ = last.revision;
  added_ = last.added;
}

void HistorySum::Compacted::Keep(const Unread& for_pass, const RevisionRecord& record) {
  if (for_pass.Contains(record.revision)) pass_change += RecordHash(record);
}

void HistorySum::Compacted::Drop(const Unread& for_pass, const RevisionRecord& record) {
  const std::uint64_t hash = RecordHash(record);
  dropped += hash;
  if (!for_pass.Contains(record.revision)) pass_change -= hash;
}

HistorySum::Unread HistorySum::CompactionBegins(std::int64_t compact_revision) {
  std::lock_guard lock(mutex_);
  is_compacting_ = true;
  ++compactions_;
  const std::int64_t to = std::min(compact_revision, pass_.unread.to_revision);
  pass_.owed = {.from = pass_.unread.from, .to_revision = to};
  pass_.unread.from = std::max(pass_.unread.from, Revision{.main = to + 1, .sub = 0});
  return pass_.owed;
}

void HistorySum::CompactionEnds(std::int64_t compact_revision, const Compacted& compacted) {
  std::lock_guard lock(mutex_);
  is_compacting_ = false;
  compact_revision_ = compact_revision;
  pass_.sum += compacted.pass_change;
  pass_.owed = {};
  if (pass_.stage == PassState::Stage::kWanted) StartPass();
  if (bases_.empty()) return;
  if (bases_.size() == kMaxBases) bases_.erase(bases_.begin());
  bases_.push_back(
      {.compact_revision = compact_revision, .sum = bases_.back().sum - compacted.dropped});
}

// With the lock held.
void HistorySum::StartPass() {
  pass_ = {.stage = PassState::Stage::kUnderWay,
           .unread = {.from = {}, .to_revision = revision_},
           .owed = {},
           .added = added_,
           .sum = 0};
}

void HistorySum::BeginPass() {
  std::lock_guard lock(mutex_);
  if (!is_compacting_) return StartPass();
  pass_ = {.stage = PassState::Stage::kWanted, .unread = {}, .owed = {}, .added = 0, .sum = 0};
}

std::optional<HistorySum::Step> HistorySum::BeginStep() const {
  std::lock_guard lock(mutex_);
  const bool is_owed = pass_.unread.empty() && !pass_.owed.empty();
  if (is_owed || pass_.stage == PassState::Stage::kWanted) return std::nullopt;
  return Step{.epoch = epoch_, .compactions = compactions_, .unread = pass_.unread};
}

bool HistorySum::EndStep(const Step& step, const Revision& next, std::uint64_t sum) {
  std::lock_guard lock(mutex_);
  if (step.epoch != epoch_ || step.compactions != compactions_) return false;
  pass_.sum += sum;
  pass_.unread.from = next;
  return true;
}

HistorySum::Verdict HistorySum::EndPass() {
  std::lock_guard lock(mutex_);
  Verdict verdict{.outcome = Outcome::kOvertaken, .revision = pass_.unread.to_revision};
  if (pass_.stage != PassState::Stage::kUnderWay || !pass_.unread.empty() || !pass_.owed.empty())
    return verdict;
  pass_.stage = PassState::Stage::kNone;
  const std::uint64_t base = pass_.sum - pass_.added;
  if (bases_.empty()) {
    bases_.push_back({.compact_revision = compact_revision_, .sum = base});
    verdict.outcome = Outcome::kFirst;
  } else {
    verdict.outcome = bases_.back().sum == base ? Outcome::kEqual : Outcome::kDiffers;
  }
  return verdict;
}

HistorySum::History HistorySum::Newest(std::size_t max_points) const {
  std::lock_guard lock(mutex_);
  History history{.bases = bases_, .points = {}};
  const std::size_t kept = points_.size() < max_points ? points_.size() : max_points;
  history.points.assign(points_.end() - static_cast<std::ptrdiff_t>(kept), points_.end());
  if (history.points.empty() || history.points.back().revision != revision_)
    history.points.push_back({.revision = revision_, .added = added_});
  return history;
}

std::size_t HistorySum::points() const {
  std::lock_guard lock(mutex_);
  return points_.size();
}

std::int64_t HistorySum::durable_revision() const {
  std::lock_guard lock(mutex_);
  return revision_;
}

std::uint64_t HistorySum::epoch() const {
  std::lock_guard lock(mutex_);
  return epoch_;
}

}  // namespace kvorum::mvcc
