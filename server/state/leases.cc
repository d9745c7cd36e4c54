#include "server/state/leases.h"

#include <algorithm>
#include <utility>

#include "base/api_errors.h"

namespace kvorum::server {

Result<lease::LeaseTable> Leases::Load(mvcc::Snapshot& content) {
  lease::LeaseTable table;
  Result<void> loaded;
  KV_RETURN_IF_ERROR(
      content.Scan(mvcc::Bucket::kLease, {}, {}, [&](std::string_view, std::string_view value) {
        const auto record = lease::DecodeLease(value);
        if (!record.has_value()) {
          loaded = std::unexpected(record.error());
        } else if (table.Add(*record) == nullptr) {
          loaded = Fail(Code::kDataLoss, "lease: stored twice");
        }
        return loaded.has_value();
      }));
  KV_RETURN_IF_ERROR(loaded);
  return table;
}

bool Leases::LeaseExists(std::int64_t lease) const {
  return lessor_.table().Find(lease) != nullptr;
}

void Leases::Attach(std::string_view key, std::int64_t lease) {
  const lease::LeaseTable& table = lessor_.table();
  if (lease == lease::kNoLease && table.attached_keys() == 0) return;
  if (table.LeaseOf(key) == lease) return;
  std::lock_guard lock(mutex_);
  lessor_.Attach(key, lease);
}

Result<lease::LeaseRecord> Leases::Grant(lease::LeaseId id, std::int64_t ttl_s) {
  std::unique_lock lock(mutex_);
  const lease::Lessor::Granted granted = lessor_.Grant(id, ttl_s, clock_.Now());
  lock.unlock();
  if (!granted.refusal.has_value()) {
    counters_.granted.fetch_add(1, std::memory_order_relaxed);
    counters_.ttl_s.Observe(static_cast<std::uint64_t>(granted.record.ttl_s));
    return granted.record;
  }
  switch (*granted.refusal) {
    case lease::Lessor::Refusal::kExists:
      return kErrLeaseExist.Fail();
    case lease::Lessor::Refusal::kTtlTooLarge:
      return kErrLeaseTtlTooLarge.Fail();
    case lease::Lessor::Refusal::kNoId:
      break;
  }
  return kErrLeaseNotFound.Fail();
}

std::vector<std::string> Leases::KeysOf(lease::LeaseId id) const {
  return lease::LeaseTable::KeysOf(*lessor_.table().Find(id));
}

void Leases::Revoke(lease::LeaseId id) {
  std::vector<Task> settled;
  {
    std::lock_guard lock(mutex_);
    lessor_.Revoke(id);
    settled = TakeWaiting(id);
  }
  counters_.revoked.fetch_add(1, std::memory_order_relaxed);
  for (Task& task : settled) task();
}

std::optional<lease::LeaseRecord> Leases::Checkpoint(lease::LeaseId id, std::int64_t remaining_s) {
  std::lock_guard lock(mutex_);
  return lessor_.Checkpoint(id, remaining_s);
}

void Leases::Install(lease::LeaseTable table) {
  Demote();
  {
    std::lock_guard lock(mutex_);
    lessor_.Exchange(table);
  }
  // The old table is freed here, without the lock.
}

void Leases::Promote(raft::Term term, Duration extension) {
  std::lock_guard lock(mutex_);
  lessor_.Promote(clock_.Now(), extension);
  primary_term_.store(term, std::memory_order_release);
}

void Leases::Demote() {
  std::map<WaitKey, Task> settled;
  {
    std::lock_guard lock(mutex_);
    lessor_.Demote();
    primary_term_.store(0, std::memory_order_release);
    settled.swap(waiting_);
    waits_.clear();
  }
  for (auto& [key, task] : settled) task();
}

std::vector<lease::LeaseId> Leases::TakeExpired(std::size_t limit) {
  std::lock_guard lock(mutex_);
  return lessor_.TakeExpired(clock_.Now(), limit);
}

std::vector<LeaseCheckpoint> Leases::TakeCheckpoints(std::size_t limit) {
  std::vector<lease::LeaseRecord> due;
  {
    std::lock_guard lock(mutex_);
    due = lessor_.TakeCheckpoints(clock_.Now(), limit);
  }
  std::vector<LeaseCheckpoint> checkpoints;
  checkpoints.reserve(due.size());
  for (const lease::LeaseRecord& record : due)
    checkpoints.push_back({.id = record.id, .remaining_s = record.remaining_s});
  return checkpoints;
}

std::uint32_t Leases::PendingCheckpoint(lease::LeaseId id) const {
  std::lock_guard lock(mutex_);
  return lessor_.PendingCheckpoint(id);
}

void Leases::CheckpointTakenBack(lease::LeaseId id, std::uint32_t number) {
  std::lock_guard lock(mutex_);
  lessor_.CheckpointTakenBack(id, number);
}

void Leases::EndLongWaits(Duration longest) {
  std::vector<Task> settled;
  {
    std::lock_guard lock(mutex_);
    const TimePoint now = clock_.Now();
    for (; !waits_.empty() && waits_.front().since + longest <= now; waits_.pop_front()) {
      const auto waiting = waiting_.find(waits_.front().key);
      if (waiting == waiting_.end()) continue;
      settled.push_back(std::move(waiting->second));
      waiting_.erase(waiting);
    }
  }
  for (Task& task : settled) task();
}

bool Leases::HasExpired() const {
  std::lock_guard lock(mutex_);
  return lessor_.HasExpired(clock_.Now());
}

void Leases::RetryExpired(lease::LeaseId id, Duration pause) {
  std::lock_guard lock(mutex_);
  lessor_.RetryExpired(id, clock_.Now() + pause);
}

lease::Lessor::Renewed Leases::Renew(lease::LeaseId id, Task settled) {
  std::lock_guard lock(mutex_);
  const lease::Lessor::Renewed renewed = lessor_.Renew(id, clock_.Now());
  if (renewed.outcome == Renewal::kExpired && settled != nullptr) {
    const WaitKey key(id, ++last_wait_);
    waiting_.emplace(key, std::move(settled));
    waits_.push_back({.since = clock_.Now(), .key = key});
  }
  if (renewed.outcome == Renewal::kRenewed)
    counters_.renewed.fetch_add(1, std::memory_order_relaxed);
  return renewed;
}

Result<std::optional<LeaseTimes>> Leases::TimeToLive(lease::LeaseId id, bool keys) const {
  LeaseTimes times;
  {
    std::lock_guard lock(mutex_);
    if (!lessor_.is_primary()) return kErrLeaderChanged.Fail();
    const auto left = lessor_.TimeToLive(id, clock_.Now());
    if (!left.has_value()) return std::nullopt;
    times = {.ttl_s = left->ttl_s, .granted_s = left->granted_s, .keys = {}};
  }
  if (!keys) return times;
  VisitKeysOf(id, [&](std::string_view key) {
    times.keys.emplace_back(key);
    return true;
  });
  std::ranges::sort(times.keys);
  times.keys.erase(std::ranges::unique(times.keys).begin(), times.keys.end());
  return times;
}

// A part ends with a key, from which the next one goes on; if that has left the lease meanwhile,
// all are visited again. Where that happens over and over, they are copied at once.
bool Leases::VisitKeysOf(lease::LeaseId id,
                         const std::function<bool(std::string_view)>& visit) const {
  constexpr int kBeginnings = 4;
  std::vector<std::string> part;
  for (int begun = 0;;) {
    bool is_whole = false;
    {
      std::lock_guard lock(mutex_);
      const lease::LeaseTable& table = lessor_.table();
      const lease::Lease* const found = table.Find(id);
      if (found == nullptr) return true;
      const lease::AttachedKey* last = part.empty() ? nullptr : table.FindKey(part.back());
      if (last != nullptr && last->lease != found) last = nullptr;
      if (last == nullptr) ++begun;
      const lease::AttachedKey* next = last == nullptr ? found->first_key : last->next;
      is_whole = begun > kBeginnings;
      const std::size_t most = is_whole ? found->keys : kKeysAtOnce;
      part.clear();
      for (; next != nullptr && part.size() < most; next = next->next) part.push_back(*next->key);
    }
    if (part.empty()) return true;
    if (!std::ranges::all_of(part, visit)) return false;
    if (is_whole) return true;
  }
}

std::vector<lease::LeaseId> Leases::List() const {
  std::vector<lease::Lessor::Listed> listed;
  for (std::size_t part = 0; part < lease::LeaseTable::kParts; ++part) {
    std::lock_guard lock(mutex_);
    lessor_.List(part, listed);
  }
  std::ranges::sort(listed);
  std::vector<lease::LeaseId> ids;
  ids.reserve(listed.size());
  for (const lease::Lessor::Listed& each : listed) ids.push_back(each.id);
  return ids;
}

std::size_t Leases::size() const {
  std::lock_guard lock(mutex_);
  return lessor_.table().size();
}

std::vector<Task> Leases::TakeWaiting(lease::LeaseId id) {
  std::vector<Task> taken;
  const auto begin = waiting_.lower_bound({id, 0});
  auto end = begin;
  for (; end != waiting_.end() && end->first.first == id; ++end)
    taken.push_back(std::move(end->second));
  waiting_.erase(begin, end);
  return taken;
}

void Leases::CheckInvariants() const {
  std::lock_guard lock(mutex_);
  lessor_.CheckInvariants();
}

}  // namespace kvorum::server
