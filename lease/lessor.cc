#include "lease/lessor.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace kvorum::lease {
namespace {

constexpr TimePoint kNever{std::numeric_limits<std::int64_t>::max()};
constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

// The longest lease exceeds the range left to a clock that has run for years.
TimePoint After(TimePoint now, std::int64_t seconds, Duration extension) {
  const std::int64_t room = kNever.ns - now.ns - extension.count();
  if (seconds > room / kNanosPerSecond) return kNever;
  return now + std::chrono::seconds(seconds) + extension;
}

// A lease never has more time than it was granted, even by a checkpoint of another version.
std::int64_t TimeOf(const LeaseRecord& record) {
  return record.remaining_s > 0 ? std::min(record.remaining_s, record.ttl_s) : record.ttl_s;
}

std::int64_t SecondsUp(Duration duration) {
  return (duration.count() + kNanosPerSecond - 1) / kNanosPerSecond;
}

}  // namespace

Lessor::Granted Lessor::Grant(LeaseId id, std::int64_t ttl_s, TimePoint now) {
  if (id == kNoLease) return {.refusal = Refusal::kNoId, .record = {}};
  if (ttl_s > kMaxTtlSeconds) return {.refusal = Refusal::kTtlTooLarge, .record = {}};
  const LeaseRecord record{.id = id, .ttl_s = std::max(ttl_s, options_.min_ttl_s)};
  Lease* lease = table_.Add(record);
  if (lease == nullptr) return {.refusal = Refusal::kExists, .record = {}};
  if (is_primary_) {
    heap_.Set(*lease, After(now, record.ttl_s, Duration::zero()));
    ScheduleCheckpoint(*lease, now);
  }
  return {.refusal = {}, .record = record};
}

bool Lessor::Revoke(LeaseId id) {
  Lease* lease = table_.Find(id);
  if (lease == nullptr) return false;
  if (is_primary_) heap_.Erase(lease->heap_place);
  table_.Remove(id);
  return true;
}

std::optional<LeaseRecord> Lessor::Checkpoint(LeaseId id, std::int64_t remaining_s) {
  Lease* lease = table_.Find(id);
  if (lease == nullptr) return std::nullopt;
  lease->record.remaining_s = remaining_s;
  return lease->record;
}

void Lessor::Exchange(LeaseTable& table) {
  KV_CHECK(!is_primary_, "a primary's leases are replaced");
  std::swap(table_, table);
  table_.ForEach(
      [&](Lease& lease) { lease.record.ttl_s = std::max(lease.record.ttl_s, options_.min_ttl_s); });
}

void Lessor::Promote(TimePoint now, Duration extension) {
  is_primary_ = true;
  checkpoints_.clear();
  std::vector<LeaseDeadline> items;
  items.reserve(table_.size());
  table_.ForEach([&](Lease& lease) {
    lease.expired = false;
    lease.checkpoint = 0;
    items.push_back({.deadline = After(now, TimeOf(lease.record), extension), .lease = &lease});
    ScheduleCheckpoint(lease, now);
  });
  heap_.Assign(std::move(items));
}

void Lessor::Demote() {
  if (!std::exchange(is_primary_, false)) return;
  heap_.Clear();
  checkpoints_.clear();
}

Lessor::Renewed Lessor::Renew(LeaseId id, TimePoint now) {
  if (!is_primary_) return {.outcome = Renewal::kNotPrimary};
  Lease* lease = table_.Find(id);
  if (lease == nullptr) return {.outcome = Renewal::kNotFound};
  if (lease->expired || heap_.DeadlineOf(*lease) <= now) return {.outcome = Renewal::kExpired};
  if (lease->record.remaining_s > 0 || lease->checkpoint != 0)
    return {.outcome = Renewal::kNeedsCheckpoint};
  heap_.Set(*lease, After(now, lease->record.ttl_s, Duration::zero()));
  return {.outcome = Renewal::kRenewed, .ttl_s = lease->record.ttl_s};
}

std::vector<LeaseId> Lessor::TakeExpired(TimePoint now, std::size_t limit) {
  std::vector<LeaseId> expired;
  while (HasExpired(now) && expired.size() < limit) {
    Lease& lease = *heap_.front().lease;
    lease.expired = true;
    expired.push_back(lease.record.id);
    heap_.Set(lease, now + options_.retry);
  }
  return expired;
}

void Lessor::RetryExpired(LeaseId id, TimePoint when) {
  Lease* lease = table_.Find(id);
  if (!is_primary_ || lease == nullptr || !lease->expired) return;
  heap_.Set(*lease, when);
}

bool Lessor::IsCheckpointed(const Lease& lease) const {
  return options_.checkpoints &&
         std::chrono::seconds(lease.record.ttl_s) > options_.checkpoint_interval;
}

void Lessor::ScheduleCheckpoint(const Lease& lease, TimePoint now) {
  if (!IsCheckpointed(lease)) return;
  constexpr std::size_t kFew = 1'024;
  if (checkpoints_.size() > 2 * table_.size() + kFew) ForgetGoneCheckpoints();
  checkpoints_.push_back({.when = now + options_.checkpoint_interval, .id = lease.record.id});
}

// Leases that come and go within an interval would leave as many entries as there were. Of each
// lease the last one stays; those before it are of leases that had its id.
void Lessor::ForgetGoneCheckpoints() {
  std::unordered_set<LeaseId> seen;
  std::deque<DueCheckpoint> kept;
  for (const DueCheckpoint& due : std::views::reverse(checkpoints_)) {
    if (table_.Find(due.id) != nullptr && seen.insert(due.id).second) kept.push_front(due);
  }
  checkpoints_ = std::move(kept);
}

std::vector<LeaseRecord> Lessor::TakeCheckpoints(TimePoint now, std::size_t limit) {
  std::vector<LeaseRecord> due;
  while (is_primary_ && due.size() < limit && !checkpoints_.empty() &&
         checkpoints_.front().when <= now) {
    Lease* lease = table_.Find(checkpoints_.front().id);
    checkpoints_.pop_front();
    // The entry may be of an earlier lease with this id.
    if (lease == nullptr || lease->expired || !IsCheckpointed(*lease)) continue;
    const TimePoint deadline = heap_.DeadlineOf(*lease);
    if (deadline <= now) continue;
    ScheduleCheckpoint(*lease, now);
    const std::int64_t remaining_s = SecondsUp(deadline - now);
    if (remaining_s >= lease->record.ttl_s) continue;  // renewed just now, or extended
    if (++last_checkpoint_ == 0) ++last_checkpoint_;
    lease->checkpoint = last_checkpoint_;
    due.push_back(
        {.id = lease->record.id, .ttl_s = lease->record.ttl_s, .remaining_s = remaining_s});
  }
  return due;
}

std::uint32_t Lessor::PendingCheckpoint(LeaseId id) const {
  const Lease* lease = table_.Find(id);
  return lease == nullptr ? 0 : lease->checkpoint;
}

void Lessor::CheckpointTakenBack(LeaseId id, std::uint32_t number) {
  Lease* lease = table_.Find(id);
  if (lease != nullptr && lease->checkpoint == number) lease->checkpoint = 0;
}

std::optional<Lessor::TimeLeft> Lessor::TimeToLive(LeaseId id, TimePoint now) const {
  const Lease* lease = table_.Find(id);
  if (lease == nullptr) return std::nullopt;
  TimeLeft left{.ttl_s = 0, .granted_s = lease->record.ttl_s};
  if (!is_primary_ || lease->expired) return left;
  const Duration remaining = heap_.DeadlineOf(*lease) - now;
  left.ttl_s = std::max<std::int64_t>(0, remaining.count() / kNanosPerSecond);
  return left;
}

void Lessor::List(std::size_t part, std::vector<Listed>& listed) const {
  table_.ForEachIn(part, [&](const Lease& lease) {
    listed.push_back(
        {.deadline = is_primary_ ? heap_.DeadlineOf(lease) : kNever, .id = lease.record.id});
  });
}

void Lessor::CheckInvariants() const {
  table_.CheckInvariants();
  heap_.CheckInvariants();
  KV_CHECK(heap_.size() == (is_primary_ ? table_.size() : 0), "a lease without a deadline");
}

}  // namespace kvorum::lease
