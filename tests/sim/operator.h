// The operator of the cluster: members are added, as voters or learners, promoted, moved to another
// URL, removed, and replaced when their disk is lost; leadership is transferred; alarms are raised
// and disarmed. Each as an operator's tool would request it, from some member that is up, in the
// middle of everything else. It also decides as which member a machine's process is started.
//
// It knows the truth (the newest membership that any member has applied), with one exception: an
// order to remove a member whose outcome it never heard may still come true. While there is one, no
// disk is lost and no member dies for good: that could cost the cluster its quorum, for which the
// code could not be blamed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/state/member_change.h"
#include "server/state/membership.h"
#include "tests/sim/judges/oracle.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Operator {
 public:
  // The first members are on the first machines, the others' are spare. `ended` is called for each
  // machine whose process the operator has ended.
  Operator(World& world, std::vector<std::unique_ptr<Machine>>& machines, const Oracle& oracle,
           std::vector<server::Member> first_members, std::function<void(Machine&)> ended);

  void Start();
  // Starts nothing more, but goes on disarming alarms and telling the cluster which members have
  // started.
  void Stop() { stopped_ = true; }

  // Decides how the machine's next process is started; false if there is nothing for it.
  bool Prepare(Machine& machine);
  void Started(Machine& machine);
  // True if a process was right to refuse to start.
  bool MayRefuse(Machine& machine, const Error& error);

  // The cluster's members, as far as any member has applied them.
  const server::MembershipView& members() const;
  // The member that runs on the machine, or is to run there.
  const server::Member* MemberOf(std::size_t machine) const;
  // Its member has lost its disk, and is not removed yet.
  bool IsLost(std::size_t machine) const;
  // True if the cluster must be able to go on without this voter, in addition to those already
  // lost: no removal is pending whose outcome is unknown, and a majority of the others has the
  // present members durably.
  bool CanDoWithout(const std::set<raft::MemberId>& gone) const;

 private:
  bool IsOutdated(const Machine& machine) const;
  bool AwaitsRemoval() const;
  bool KnowsMembers(Machine& machine) const;
  std::size_t Voters() const;
  bool HasLost() const;
  bool MayRemove(raft::MemberId id) const;
  // True if its machine has run it yet.
  bool HasJoined(const server::Member& member) const;
  void Every(Duration mean, std::function<void()> act);
  Machine* AnyUp();
  Machine* Leader();
  template <class Condition>
  const server::Member* AnyMember(Condition&& condition);

  void Add(bool as_learner);
  void Promote();
  void Remove();
  void Update();
  void LoseDisk();
  void ReplaceLost(std::size_t machine);
  void MoveLeader();
  void RaiseAlarm(server::AlarmType type, Fault counts_as);
  void Defragment();
  void Tend();
  void DisarmAlarms(Machine& machine);
  void Publish(Machine& machine, std::uint64_t life);

  // Like the Cluster service: a linearizable read of the members, then the change.
  void ReadThenChange(Machine& at, server::MemberChange change, Fault counts_as);
  void Change(Machine& at, const server::MemberChange& change, Fault counts_as);
  Result<void> CheckStrict(Machine& at, const server::MemberChange& change);
  void Refused(const Machine& at, const server::MemberChange& change, const Error& error);

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  const Oracle& oracle_;
  const server::MembershipView first_;
  const std::string first_cluster_;
  const std::function<void(Machine&)> ended_;
  const bool strict_;
  bool stopped_ = false;
  TimePoint alarm_until_{};
  std::map<std::size_t, raft::MemberId> lost_;  // by machine
  // Orders to remove a member that may still come true, by the proposal's id.
  std::map<std::uint64_t, raft::MemberId> removals_;
  std::map<std::size_t, raft::MemberId> joined_;  // by machine
};

}  // namespace kvorum::sim
