// One member's replica: drives the Raft core, takes proposals, linearizable reads and peers'
// messages from any thread in batches, and hands its output to the log, the apply loop and the
// transport.
//
// Propose, ReadIndex and the accessors are thread-safe; everything about the core itself runs on
// the raft executor, which never waits for a disk. The owner stops the replica, then the executors,
// then destroys it. Bounds (Options): proposals and reads that nobody has answered yet; past them a
// client is told that there are too many requests. Peers' messages past a bound are dropped: Raft
// sends again. A message that is nonsense is dropped too, counted, and logged once a minute.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "proto/raft_types.h"
#include "raft/node.h"
#include "server/apply/apply_loop.h"
#include "server/apply/read_task.h"
#include "server/apply/wait_table.h"
#include "server/peer/transport.h"
#include "server/replica/catch_up_log.h"
#include "server/replica/event_log.h"
#include "server/replica/log_writer.h"
#include "server/replica/proposal.h"
#include "server/replica/read_rounds.h"
#include "server/replica/request_id.h"
#include "server/replica/taken_proposals.h"

namespace kvorum::server {

class Replica {
 public:
  struct Options {
    Duration tick = std::chrono::milliseconds(100);
    std::uint64_t snapshot_count = 10'000;
    // By how much the log may grow in memory since the last snapshot before the next one is due,
    // however few entries that are.
    std::size_t snapshot_size_bytes = std::size_t{128} << 20;
    Duration election_timeout = std::chrono::seconds(1);
    // A member that starts, and finds a majority there and no leader, stands for election sooner.
    bool hurry_first_election = true;
    Duration request_timeout = std::chrono::seconds(7);
    std::size_t max_waiting_proposals = 50'000;
    std::size_t max_waiting_proposal_bytes = std::size_t{256} << 20;
    // Of peers' messages that the raft executor has not seen yet.
    std::size_t max_waiting_messages = 16'384;
    std::size_t max_waiting_message_bytes = std::size_t{256} << 20;
    // Batches of linearizable reads that are not answered yet.
    std::size_t max_waiting_reads = 50'000;
  };
  // Called on the raft executor.
  struct Hooks {
    // A follower needs a snapshot with at least what this kSnap names.
    std::function<void(raft::Message message)> send_snapshot;
    // A peer's kSnap of this index came, and Raft has no use for the snapshot.
    std::function<void(raft::Index index)> snapshot_ignored;
    // leading_term() says something else from now on. May be empty.
    std::function<void()> leadership_changed;
  };

  // `conf_state` is that of the node's snapshot.
  Replica(std::unique_ptr<raft::Node> node, LogWriter& log, ApplyLoop& apply, WaitTable& waiters,
          RequestIdSource& ids, Executor& raft, raft::Index snapshot_index, Options options,
          Hooks hooks);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  void Start(Transport& transport);
  // Fails what waits with "server stopped" and takes nothing more; `done` runs on the raft
  // executor.
  void Stop(Task done);

  // ---- any thread ----
  // The waiter of each is called once. Ids are unique.
  void Propose(std::vector<Proposal> proposals);
  // The task runs, on the raft or apply executor, when a state is applied that contains everything
  // committed before the call.
  void ReadIndex(ReadTask task);
  // A peer's message. False if it was dropped, since too many wait.
  bool Receive(raft::Message message);
  // Several, in one hand-over; those that find no room are dropped.
  void ReceiveAll(std::vector<raft::Message> messages);
  void Unreachable(raft::MemberId peer);
  void SnapshotSent(raft::MemberId peer, bool succeeded);

  // Their callbacks run on the raft executor.
  using Callback = std::move_only_function<void(Result<void>)>;
  // Whether a learner could vote: its log has at least 90 % of the leader's. kErrNotLeader,
  // kErrMemberNotFound, kErrLearnerNotReady.
  void CheckLearner(raft::MemberId id, Callback callback);
  // Hands leadership to a voter, and calls back when it leads. kErrNotLeader,
  // kErrBadLeaderTransferee, kErrTimeoutLeaderTransfer.
  void MoveLeader(raft::MemberId to, TimePoint deadline, Callback callback);
  // If this member leads and another one can: hands leadership to the one that is connected and has
  // most of the log. `done` runs when it leads, or after `limit`.
  void GiveUpLeadership(Duration limit, Task done);

  raft::Index commit_index() const { return commit_index_.load(std::memory_order_acquire); }
  raft::Index applied_index() const { return apply_.applied_index(); }
  raft::Term term() const { return term_.load(std::memory_order_acquire); }
  raft::MemberId leader() const { return leader_.load(std::memory_order_acquire); }
  // True if there has been no leader for two election time-outs: none was heard of, and none of
  // the elections meanwhile had a winner. leader() is kNone sooner, in each election.
  bool is_leaderless() const {
    return leader() == raft::kNone && is_leader_overdue_.load(std::memory_order_acquire);
  }
  // The term in which this member leads, as far as it knows; 0 if it does not.
  raft::Term leading_term() const { return leading_term_.load(std::memory_order_acquire); }
  // Of peers, that no correct one sends, or for which there was no room.
  std::uint64_t refused_messages() const {
    return refused_messages_.load(std::memory_order_relaxed);
  }
  // Proposals of other members' clients that came again and were not taken again.
  std::uint64_t repeated_proposals() const {
    return repeated_proposals_.load(std::memory_order_relaxed);
  }
  const Clock& clock() const { return raft_.clock(); }

  // ---- raft executor ----
  const raft::Node& node() const { return *node_; }

  // ---- reports, from the executors that the names say ----
  void Persisted(std::uint64_t ready_number);  // wal
  void SnapshotEnded(raft::Index index);       // wal
  void Applied(raft::Index index);             // apply
  void ConfChanged(raft::Index index,
                   const raft::ConfChange& change);  // apply, before Applied passes it
  // apply: a snapshot of the leader has taken the store's place; before Applied of its index
  void SnapshotInstalled(const raft::SnapshotMetadata& metadata);
  void BackendDurable(raft::Index index);  // backend: the store holds everything up to it on disk

 private:
  // What other threads handed over since the raft executor last looked.
  struct Inbox {
    std::vector<Proposal> proposals;
    std::vector<ReadTask> reads;
    std::vector<raft::Message> messages;
    std::vector<raft::MemberId> unreachable;
    std::vector<std::pair<raft::MemberId, bool>> snapshots_sent;
    std::optional<raft::SnapshotMetadata> installed;
    std::uint64_t persisted = 0;
    raft::Index applied = 0;
    raft::Index durable = 0;
    raft::Index compact = 0;
    bool snapshot_ended = false;
    std::vector<std::pair<raft::Index, raft::ConfChange>> conf_changes;
  };
  struct Transfer {
    raft::MemberId to;  // kNone: whoever
    TimePoint deadline;
    Callback callback;
  };
  struct RefusedMessages {
    std::uint64_t count = 0;
    TimePoint logged;
  };

  template <class Change>
  void HandOver(Change&& change);
  // Under the lock. False if there is no room.
  bool PutMessage(Inbox& inbox, raft::Message&& message);
  void Drain();
  // A member that is the only voter need not wait for a time-out to know that nobody else leads.
  void MaybeCampaignAlone();
  void HurryFirstElection();
  void OnTick();
  void ArmTick();
  void ProcessReady();
  void HandleReady(raft::Ready ready);
  void Save(raft::Ready& ready);
  void StepAll(std::vector<raft::Message> messages);
  Result<void> Step(raft::Message message);
  void SendAll(std::vector<raft::Message> messages);
  void ProposeAll(std::vector<Proposal> proposals);
  void ProposeConfChange(Proposal proposal);
  // Whether it is for the leader of a term that this member is not.
  bool IsOfAnotherTerm(const Proposal& proposal) const;
  void FailProposal(std::uint64_t id, const Error& error);
  std::uint64_t AskForReads();
  void EndTransfers();
  // What a proposal is told that got no answer in time.
  Error TimeoutError() const;
  bool IsConnectedSince(raft::MemberId peer, TimePoint since) const;
  // Proposals whose time is over are with nobody any more.
  void DropExpired(std::vector<Proposal>& proposals, TimePoint now);
  bool IsSnapshotDue() const;
  void MaybeSnapshot();
  void CompactLog();
  void PublishState();

  Executor& raft_;
  LogWriter& log_;
  ApplyLoop& apply_;
  WaitTable& waiters_;
  RequestIdSource& ids_;
  const Options options_;
  const Hooks hooks_;

  std::mutex mutex_;  // guards the next three
  Inbox inbox_;
  std::size_t inbox_message_bytes_ = 0;
  bool drain_posted_ = false;

  std::atomic<raft::Index> commit_index_{0};
  std::atomic<raft::Term> term_{0};
  std::atomic<raft::MemberId> leader_{raft::kNone};
  std::atomic<bool> is_leader_overdue_{false};
  std::atomic<raft::Term> leading_term_{0};
  std::atomic<std::size_t> waiting_bytes_{0};
  std::atomic<std::size_t> waiting_reads_{0};
  std::atomic<std::uint64_t> refused_messages_{0};
  std::atomic<std::uint64_t> repeated_proposals_{0};

  // Of the raft executor.
  std::unique_ptr<raft::Node> node_;
  Transport* transport_ = nullptr;
  bool stopped_ = false;
  std::vector<Proposal> leaderless_;       // proposed while there was no leader
  std::vector<Proposal> pending_changes_;  // of the configuration, behind one that is not applied
  std::vector<Transfer> transfers_;
  TimePoint hurry_until_{};  // after which the first election takes its time
  TimePoint elected_{};      // when this member last became the leader
  ReadRounds reads_;
  raft::Index snapshot_index_;  // of the last snapshot begun
  raft::Index durable_index_ = 0;
  bool snapshot_running_ = false;
  std::size_t kept_size_bytes_ = 0;  // of the log in memory, when the last snapshot was done
  CatchUpLog catch_up_log_;
  raft::Index compact_index_ = 0;  // up to where the log should be compacted; 0: it is
  TakenProposals taken_proposals_;
  EventLog event_log_;
  std::map<raft::MemberId, RefusedMessages> refused_;                 // by sender
  std::vector<std::pair<raft::Index, raft::ConfState>> conf_states_;  // from which index each holds
};

}  // namespace kvorum::server
