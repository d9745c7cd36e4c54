// Who runs the cluster: members are added, as voters or learners, promoted, moved to another URL,
// removed, and replaced when their disk is lost; leadership is moved; alarms are raised and
// disarmed. Each as an operator's tool would ask for it, of some member that is up, in the middle
// of everything else that goes on. It also says what a machine's process is to be started as.
//
// It knows the truth (the newest membership that any member has applied), but for one thing: an
// order to remove a member whose outcome it never heard may still come true. As long as there is
// such a one, no disk is lost and nobody dies for good: that could cost the cluster its quorum, for
// which nobody could blame the code.
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
#include "tests/sim/machine.h"
#include "tests/sim/oracle.h"
#include "tests/sim/world.h"

namespace kvorum::sim {

class Operator {
 public:
  // The first members are on the first machines, the others' are spare. `ended` is called for each
  // machine whose process the operator has ended.
  Operator(World& world, std::vector<std::unique_ptr<Machine>>& machines, const Oracle& oracle,
           std::vector<server::Member> first_members, std::function<void(Machine&)> ended);

  void Start();
  // Begins nothing more, but goes on disarming alarms and telling the cluster who has started.
  void Stop() { stopped_ = true; }

  // Says what the machine's next process is to be started as; false if there is nothing for it.
  bool Prepare(Machine& machine);
  void Started(Machine& machine);
  // Whether it was right of a process to refuse to start.
  bool MayRefuse(Machine& machine, const Error& error);

  // What the cluster is, as far as any member has applied it.
  const server::MembershipView& members() const;
  // The member that runs on the machine, or is to run there.
  const server::Member* MemberOf(std::size_t machine) const;
  // Its member has lost its disk, and is not removed yet.
  bool IsLost(std::size_t machine) const;
  // Whether the cluster must be able to go on without this voter, besides those that are lost
  // already: nobody knows of a removal that may still come true, and a majority of the others knows
  // the members as they are, whatever happens to it.
  bool CanDoWithout(const std::set<raft::MemberId>& gone) const;

 private:
  bool IsOutdated(const Machine& machine) const;
  bool AwaitsRemoval() const;
  bool KnowsMembers(Machine& machine) const;
  std::size_t Voters() const;
  bool HasLost() const;
  bool MayRemove(raft::MemberId id) const;
  // Whether its machine has run it yet.
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

  // As the Cluster service does it: a linearizable look at the members, then the change.
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
