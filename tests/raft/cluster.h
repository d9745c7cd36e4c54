// Members of a cluster in one process, over a disk, a network and a state machine that a test moves
// by hand. Every property that Raft promises (paper, figure 3) is checked at each step, and a
// broken one stops the test's process with its name.
//
// The fault model. Disk: unsynced writes are lost in a crash from a point on that the test or its
// seed chooses (a prefix survives, in the middle of a Ready too); synced ones stay. State machine:
// durable up to the last Checkpoint. Network: messages are lost, repeated and reordered, never
// altered. Raft does not survive more than that (a disk that loses synced data, a member that
// lies), and it is not tried, but for one member at a time whose disk is replaced as a whole by an
// older one while no member is ahead of the leader's term, and which is notified (ReplaceDisk).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "raft/node.h"

namespace kvorum::raft {

// The content of a member's disk.
struct Disk {
  HardState hard_state{};
  Index snapshot_index = 0;
  Term snapshot_term = 0;
  std::vector<Entry> entries{};  // that follow the snapshot
  // The state machine's last checkpoint.
  Index applied = 0;
  ConfState conf_state{};
  Index lost_data = 0;
};

class Cluster;

class Member {
 public:
  Member(Cluster& cluster, Config config, Disk disk);

  MemberId id() const { return config_.id; }
  const Config& config() const { return config_; }
  bool is_up() const { return node_ != nullptr; }
  Node& node() { return *node_; }
  const Disk& disk() const { return disk_; }

  // Takes a Ready and starts to work on it: writes, sends, queues the entries to apply.
  Ready TakeReady();
  bool HasWrites() const { return !writes_.empty(); }
  // Syncs the writes of the Ready of this number and of those before it; all of them if 0.
  void Persist(std::uint64_t ready_number = 0);
  // Syncs the oldest write only.
  void PersistOne() { Persist(writes_.front().number); }
  bool HasToApply() const;
  // Applies the next entry or snapshot, or all of them.
  void ApplyOne();
  void ApplyAll();
  // Makes the state machine durable and compacts the log before it.
  void Checkpoint();
  // Stops the member. This many steps of its unsynced writes (a Ready's snapshot, each entry, hard
  // state) survive.
  void Crash(std::size_t surviving_steps = 0);
  std::size_t UnsyncedSteps() const;
  void Start();
  // Stops the member, and starts it again from this disk, an older one of this member or an empty
  // one.
  void ReplaceDisk(Disk disk);
  // A peer tells it that it has lost data, and hears nothing from it before that is on its disk.
  void LoseData();
  bool had_disk_replaced() const { return had_disk_replaced_; }
  // Checks that the log holds all entries known to be committed.
  void CheckHolds(const std::vector<Entry>& history) const;

 private:
  struct PendingApply {
    Entry entry{};
    std::shared_ptr<const Snapshot> snapshot{};  // instead of an entry, if set
    std::uint64_t ready_number = 0;              // of the snapshot, which has to be durable first
  };

  void WriteStep(std::size_t step, const Ready& ready);

  Cluster& cluster_;
  const Config config_;
  Disk disk_;
  std::unique_ptr<Node> node_;
  std::deque<Ready> writes_;     // written, not synced; only the parts for the disk are kept
  std::uint64_t persisted_ = 0;  // the last Ready that is synced
  std::deque<PendingApply> to_apply_;
  bool had_disk_replaced_ = false;
};

class Cluster {
 public:
  // Adds a member that is up.
  Member& Add(const Config& config, Disk disk = {});
  Member& member(MemberId id) { return members_.at(id); }
  std::map<MemberId, Member>& members() { return members_; }

  // Messages in flight, in the order they were sent.
  std::vector<Message>& network() { return network_; }
  // Delivers the message through its encoding; a correct member's message is never refused. Lost if
  // the receiver is down. (A member that does not accept all kinds of configuration changes refuses
  // them.)
  Result<void> Deliver(const Message& message);

  // The committed entries, as far as any member has applied them; history()[i] has index i + 1.
  const std::vector<Entry>& history() const { return history_; }
  // Asks for a linearizable read, and checks its answer when it comes.
  Dropped Read(MemberId id);
  std::size_t answered_reads() const { return answered_reads_; }
  std::size_t elections() const { return leaders_.size(); }

  // Reports of the members.
  void OnReady(Member& member, const Ready& ready);
  void OnApplied(Member& member, const Entry& entry);
  // The configuration that history up to this index made.
  ConfState ConfAt(Index index) const;

  // Checks that logs with an equal entry are equal up to it, and each Node's own invariants.
  void CheckInvariants();

 private:
  std::map<MemberId, Member> members_;
  std::vector<Message> network_;
  std::vector<Entry> history_;
  std::vector<ConfState> confs_;  // after each entry of history_
  std::map<Term, MemberId> leaders_;
  std::map<std::uint64_t, Index> reads_;  // by context: the commit index when it was requested
  std::uint64_t last_read_ = 0;
  std::size_t answered_reads_ = 0;
};

}  // namespace kvorum::raft
