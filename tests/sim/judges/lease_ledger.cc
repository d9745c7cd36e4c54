#include "tests/sim/judges/lease_ledger.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "mvcc/records/key_value.h"
#include "tests/sim/clients/request.h"
#include "tests/sim/nemesis.h"

namespace kvorum::sim {
namespace {

using std::chrono::seconds;

// For clocks whose rates are rounded.
constexpr Duration kRounding = std::chrono::microseconds(1);
// The time from a lease's deadline to its end, once a leader is not paused any more: finding it,
// asking a quorum, the log, and leases that expire at the same time.
constexpr Duration kSlack = seconds(2);

}  // namespace

LeaseLedger::Moment LeaseLedger::Now() const {
  return {.at = world_.scheduler.Now(),
          .fastest = world_.fastest_clock.Elapsed(),
          .revision = events_.last_revision()};
}

// ---- what clients see ----

void LeaseLedger::CheckPromise(lease::LeaseId id, const Lease& lease, const Moment& asked,
                               std::int64_t ttl_s) {
  if (lease.gone->at < asked.at) {
    return world_.Fail("lease {:x} was gone before a client asked for the renewal that it got", id);
  }
  const Duration lasted = lease.gone->fastest - asked.fastest;
  if (!lease.revoke_asked && lasted + kRounding < seconds(ttl_s)) {
    world_.Fail("lease {:x} of {} s has ended {} ms after its client asked for it to be kept", id,
                ttl_s, lasted.count() / 1'000'000);
  }
}

void LeaseLedger::Promised(lease::LeaseId id, std::int64_t ttl_s, const Moment& asked,
                           std::uint64_t term) {
  Lease& lease = leases_[id];
  lease.ttl_s = ttl_s;
  if (lease.gone.has_value()) return CheckPromise(id, lease, asked, ttl_s);
  if (lease.promised_term != 0 && lease.promised_term != term)
    world_.faults.Add(Fault::kLeaseOutlivedLeader);
  lease.promised_term = term;
  lease.told = world_.scheduler.Now();
  if (!lease.promised.has_value() || lease.promised->at < asked.at) lease.promised = asked;
}

void LeaseLedger::ToldGone(lease::LeaseId id) {
  if (!IsGone(id) && leases_[id].promised.has_value())
    world_.Fail("a client is told that lease {:x} is gone, and it is not", id);
}

void LeaseLedger::TimesTold(lease::LeaseId id, std::int64_t ttl_s, std::int64_t granted_s,
                            const std::set<std::string>& keys, const Moment& asked) {
  if (ttl_s < 0) return ToldGone(id);
  const Lease& lease = leases_[id];
  if (lease.gone.has_value() && lease.gone->at < asked.at)
    return world_.Fail("a client is told of lease {:x}, which was gone before it asked", id);
  if (lease.ttl_s != 0 && granted_s != lease.ttl_s)
    return world_.Fail("lease {:x} of {} s is told to be one of {} s", id, lease.ttl_s, granted_s);
  if (!events_.HadKeys(id, keys, asked.revision, events_.last_revision())) {
    return world_.Fail("lease {:x} is told to have {} keys, and had others from revision {} to {}",
                       id, keys.size(), asked.revision, events_.last_revision());
  }
  // A concurrent renewal may take effect later.
  if (!lease.promised.has_value() || asked.at < lease.told) return;
  const Duration passed = world_.fastest_clock.Elapsed() - lease.promised->fastest;
  if (seconds(ttl_s + 1) + passed + kRounding < seconds(granted_s)) {
    world_.Fail("lease {:x} of {} s is told to have {} s left {} ms after it was renewed", id,
                granted_s, ttl_s, passed.count() / 1'000'000);
  }
}

// ---- what members do ----

std::uint32_t LeaseLedger::DigestOf(const lease::LeaseTable& table) {
  std::uint32_t digest = 0;  // in no order
  table.ForEach([&](const lease::Lease& lease) {
    std::string text = lease::EncodeLease(lease.record);
    for (const std::string& key : lease::LeaseTable::KeysOf(lease)) text.append(key).push_back(' ');
    digest += Crc32c(1, text);
  });
  return digest;
}

void LeaseLedger::AfterApply(Machine& machine) {
  server::LocalMember& local_member = machine.local_member();
  View& view = views_[machine.number()];
  if (view.life != machine.life()) view = {.life = machine.life()};
  const raft::Term primary_term = local_member.leases().primary_term();
  if (std::exchange(view.primary_term, primary_term) != primary_term)
    view.primary_since = world_.scheduler.Now();
  const raft::Index applied = local_member.replica().applied_index();
  // Until the log has caught up with the backend, index and leases do not belong together.
  if (applied <= view.applied ||
      applied.value() < local_member.store().recovered().consistent_index)
    return;
  view.applied = applied;
  Observe(machine, applied);
}

void LeaseLedger::Observe(Machine& machine, raft::Index applied) {
  const lease::LeaseTable& table = machine.local_member().leases().table();
  const auto [known, is_new] = digests_.emplace(applied, DigestOf(table));
  if (!is_new && known->second != DigestOf(table)) {
    return world_.Fail("{} has other leases at applied index {} than another member had",
                       machine.name(), applied);
  }
  table.ForEach([&](const lease::Lease& each) {
    Lease& lease = leases_[each.record.id];
    if (each.record.remaining_s != 0 && !std::exchange(lease.was_checkpointed, true))
      world_.faults.Add(Fault::kLeaseCheckpointed);
    if (lease.seen_index != 0) return;
    lease.seen = world_.scheduler.Now();
    lease.seen_index = applied;
    standing_.insert(each.record.id);
  });
  std::vector<lease::LeaseId> gone;
  for (const lease::LeaseId id : standing_) {
    if (leases_[id].seen_index < applied && table.Find(id) == nullptr) gone.push_back(id);
  }
  for (const lease::LeaseId id : gone) {
    standing_.erase(id);
    Lease& lease = leases_[id];
    lease.gone = Now();
    world_.Note("lease {:x} is gone at index {} of {}", id, applied, machine.name());
    world_.faults.Add(lease.revoke_asked ? Fault::kLeaseRevoked : Fault::kLeaseExpired);
    if (!events_.KeysOf(id).empty()) {
      world_.Fail("lease {:x} is gone, and {} of its keys are not", id, events_.KeysOf(id).size());
    }
    if (lease.promised.has_value()) CheckPromise(id, lease, *lease.promised, lease.ttl_s);
  }
}

void LeaseLedger::CheckAll() {
  for (const auto& machine : machines_) {
    if (!machine->up()) continue;
    machine->local_member().leases().CheckInvariants();
    machine->services().watchers().CheckInvariants();
    const lease::LeaseTable& table = machine->local_member().leases().table();
    auto view = machine->local_member().store().Read();
    if (!view.has_value()) continue;  // the oracle tells
    const auto rows = view->Range({.key = kFirstKey, .range_end = kEndOfKeys});
    if (!rows.has_value()) continue;
    std::size_t attached = 0;
    for (std::size_t i = 0; i < rows->rows.size(); ++i) {
      const auto kv = mvcc::DecodeKeyValue(rows->rows[i]);
      if (!kv.has_value() || kv->lease == lease::kNoLease) continue;
      ++attached;
      if (table.LeaseOf(kv->key) != kv->lease) {
        world_.Fail("{}: {} hangs on lease {:x} in the store, and on {:x} in the lessor",
                    machine->name(), kv->key, kv->lease, table.LeaseOf(kv->key));
      }
    }
    if (attached != table.attached_keys()) {
      world_.Fail("{}: {} keys hang on leases in the store, and {} in the lessor", machine->name(),
                  attached, table.attached_keys());
    }
  }
}

void LeaseLedger::CheckOverdue(const std::set<lease::LeaseId>& kept) {
  for (const auto& machine : machines_) {
    if (!machine->up() || !settled_.has_value()) continue;
    server::LocalMember& local_member = machine->local_member();
    const View& view = views_[machine->number()];
    const raft::Term term = local_member.leases().primary_term();
    if (term == 0 || term != local_member.replica().leading_term() || view.primary_term != term)
      continue;
    const Duration extension = machine->options().replica.election_timeout;
    // A renewal requested earlier may take its whole time-out.
    const Duration asked_before = machine->options().replica.request_timeout;
    const TimePoint begin = std::max({view.primary_since + extension, *settled_ + asked_before,
                                      *settled_ + Nemesis::kLongestPause});
    local_member.leases().table().ForEach([&](const lease::Lease& lease) {
      if (kept.contains(lease.record.id)) return;
      const TimePoint seen = leases_.at(lease.record.id).seen;
      const TimePoint end = std::max(begin, seen) + seconds(lease.record.ttl_s) + kSlack;
      if (world_.scheduler.Now() <= end) return;
      world_.Fail("lease {:x} of {} s is still there, and {} has decided about leases since {} ms",
                  lease.record.id, lease.record.ttl_s, machine->name(),
                  (world_.scheduler.Now() - view.primary_since).count() / 1'000'000);
    });
  }
}

TimePoint LeaseLedger::decided_since() const {
  TimePoint last{};
  for (const View& view : views_) last = std::max(last, view.primary_since);
  return last;
}

bool LeaseLedger::HasOthers(Machine& machine, const std::set<lease::LeaseId>& kept) const {
  bool has = false;
  machine.local_member().leases().table().ForEach(
      [&](const lease::Lease& lease) { has |= !kept.contains(lease.record.id); });
  return has;
}

}  // namespace kvorum::sim
