// The promises made to clients about leases, and the leases' fates: none ends before its time by
// any clock that counts it, and none that was renewed is gone; answers about a lease are true when
// given; all members have the same leases with the same keys at an equal applied index; and once
// the faults are over, none is left long after its deadline.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lease/lease_table.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class LeaseLedger {
 public:
  // A moment of true time, and of the fastest clock.
  struct Moment {
    TimePoint at{};
    Duration fastest{};
    std::int64_t revision = 0;  // the last one that is published
  };

  LeaseLedger(World& world, std::vector<std::unique_ptr<Machine>>& machines,
              const EventHistory& events)
      : world_(world), machines_(machines), events_(events), views_(machines.size()) {}

  Moment Now() const;

  // ---- answers to clients, for requests made at `asked` ----
  // Granted or renewed, by a member in this term.
  void Promised(lease::LeaseId id, std::int64_t ttl_s, const Moment& asked, std::uint64_t term);
  void RevokeAsked(lease::LeaseId id) { leases_[id].revoke_asked = true; }
  // The client heard that there is no such lease any more.
  void ToldGone(lease::LeaseId id);
  void TimesTold(lease::LeaseId id, std::int64_t ttl_s, std::int64_t granted_s,
                 const std::set<std::string>& keys, const Moment& asked);

  // ---- what members do ----
  void AfterApply(Machine& machine);
  // Their leases are those of their keys. O(n).
  void CheckAll();
  // The faults are over, and no client renews but those that it says.
  void Settle() { settled_ = world_.scheduler.Now(); }
  // By a member that decides; `kept` are renewed.
  void CheckOverdue(const std::set<lease::LeaseId>& kept);
  // When somebody last began to decide.
  TimePoint decided_since() const;
  // Leases that some member has.
  bool HasOthers(Machine& machine, const std::set<lease::LeaseId>& kept) const;

  // True if a lease has ended, as far as its keys show.
  bool IsGone(lease::LeaseId id) const {
    const auto found = leases_.find(id);
    return found != leases_.end() && found->second.gone.has_value();
  }

 private:
  struct Lease {
    std::int64_t ttl_s = 0;            // reported to the client
    std::optional<Moment> promised{};  // the last moment from which it holds
    TimePoint told{};                  // when the client heard of that, or of another promise, last
    std::uint64_t promised_term = 0;
    bool revoke_asked = false;
    TimePoint seen{};  // by the first member that has it
    raft::Index seen_index = 0;
    std::optional<Moment> gone{};  // where it first is
    bool was_checkpointed = false;
  };
  struct View {
    std::uint64_t life = 0;
    raft::Index applied = 0;
    raft::Term primary_term = 0;
    TimePoint primary_since{};
  };

  void Observe(Machine& machine, raft::Index applied);
  void CheckPromise(lease::LeaseId id, const Lease& lease, const Moment& asked, std::int64_t ttl_s);
  static std::uint32_t DigestOf(const lease::LeaseTable& table);

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  const EventHistory& events_;
  std::map<lease::LeaseId, Lease> leases_;
  std::set<lease::LeaseId> standing_;  // seen and not gone
  std::map<raft::Index, std::uint32_t> digests_;
  std::vector<View> views_;
  std::optional<TimePoint> settled_;
};

}  // namespace kvorum::sim
