// The properties that hold at every moment, under every fault: Raft's promises (paper, figure 3)
// and equality of the replicas. Checks each member after each of its tasks, the more expensive
// properties now and then, and reports the first violation to the world.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "raft/events.h"
#include "raft/log.h"
#include "tests/sim/judges/history.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Oracle {
 public:
  Oracle(World& world, std::vector<std::unique_ptr<Machine>>& machines)
      : world_(world), machines_(machines), states_(world), views_(machines.size()) {}

  // Called when a member begins to lead, when the first commit of that leader comes, and when a
  // member has voted for another one.
  std::function<void(Machine&)> on_elected = [](Machine&) {};
  std::function<void(Machine&)> on_first_commit = [](Machine&) {};
  std::function<void(Machine&)> on_voted = [](Machine&) {};
  // Each entry once, when the first member knows that it is committed, in their order.
  std::function<void(const raft::Entry&)> on_committed = [](const raft::Entry&) {};

  void AfterRaft(Machine& machine);
  void AfterApply(Machine& machine);
  // The process is about to be gone.
  void OnEnding(Machine& machine);
  // Log matching, HashKV, the classes' own invariants. O(n).
  void CheckAll();
  // HashKV and the small buckets of members that have applied the same.
  void CheckEqual(const std::vector<Machine*>& members);

  // The members of the cluster, by the newest configuration that any member has applied; nullptr
  // before there is one.
  const server::MembershipView* members() const { return newest_members_.get(); }
  // The index at which they were first seen.
  raft::Index members_index() const { return newest_members_index_; }
  const StateHistory& states() const { return states_; }
  raft::Index committed() const { return raft::Index{committed_.size()}; }
  std::uint64_t elections() const { return leaders_.size(); }

 private:
  struct CommittedEntry {
    raft::Term term = 0;
    std::uint32_t checksum = 0;
    friend bool operator==(const CommittedEntry&, const CommittedEntry&) = default;
  };
  // The observations of one process.
  struct View {
    std::uint64_t life = 0;
    bool has_run = false;
    raft::Index commit = 0;
    raft::Role role = raft::Role::kFollower;
    raft::Term term = 0;
    raft::MemberId vote = raft::kNone;
    bool awaits_commit = false;  // has begun to lead, and nothing was committed since
    raft::Index applied = 0;
    std::int64_t revision = 0;
    std::shared_ptr<const server::MembershipView> members{};
    std::uint32_t members_digest = 0;
    raft::Index installing = 0;  // index of a snapshot that Raft has taken, but not the store
  };

  View& ViewOf(Machine& machine);
  static CommittedEntry Digest(const raft::Entry& entry);
  void CheckCommitted(const Machine& machine, const raft::Log& log, raft::Index from,
                      raft::Index to);
  void CheckLeader(Machine& machine, const raft::Node& node);
  void CheckLogsMatch(Machine& a, Machine& b);
  void CheckMembers(Machine& machine, raft::Index applied);
  void CheckConfState(Machine& machine);
  void CheckHash(Machine& machine, std::int64_t revision);
  void ObserveStates(Machine& machine, std::int64_t from, std::int64_t to);

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  StateHistory states_;
  std::vector<View> views_;
  std::vector<CommittedEntry> committed_;  // [i] has index i + 1
  std::map<raft::Term, raft::MemberId> leaders_;
  std::map<raft::Index, std::int64_t> revision_at_;  // by applied index, at the ends of batches
  // The members and the alarms, by applied index.
  std::map<raft::Index, std::uint32_t> members_at_;
  std::shared_ptr<const server::MembershipView> newest_members_;
  raft::Index newest_members_index_ = 0;
  raft::Index newest_applied_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> hashes_;  // revision, compacted
};

}  // namespace kvorum::sim
