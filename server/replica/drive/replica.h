// One member's replica: drives the Raft core, takes proposals, linearizable reads and peers'
// messages from any thread in batches, and hands its output to the log, the apply loop and the
// transport.
//
// Propose, ReadIndex and the accessors are thread-safe; everything about the core itself runs on
// the raft executor, which never waits for a disk. The owner stops the replica, then the executors,
// then destroys it. Bounds (Options): unanswered proposals and reads; past them a client gets "too
// many requests". Peers' messages past a bound are dropped: Raft sends again. Nonsense messages are
// dropped too, counted, and logged once a minute.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/inbox.h"
#include "base/task.h"
#include "proto/raft_types.h"
#include "server/apply/read_task.h"
#include "server/replica/drive/catch_up_log.h"
#include "server/replica/drive/event_log.h"
#include "server/replica/drive/first_election.h"
#include "server/replica/drive/leadership_moves.h"
#include "server/replica/drive/log_snapshots.h"
#include "server/replica/drive/proposal.h"
#include "server/replica/drive/read_rounds.h"
#include "server/replica/drive/refusal_log.h"
#include "server/replica/drive/replica_depths.h"
#include "server/replica/drive/request_id.h"
#include "server/replica/drive/taken_proposals.h"
#include "server/replica/drive/timeout_cause.h"
#include "server/replica/drive/waiting_proposals.h"
#include "server/replica/drive/watcher_pace.h"
#include "server/state/raft_status.h"

namespace kvorum::raft {
class Node;
struct Fetch;
struct Ready;
}  // namespace kvorum::raft

namespace kvorum::server {

class ApplyLoop;
class LogWriter;
class Transport;
class WaitTable;

class Replica {
 public:
  struct Options {
    Duration tick = std::chrono::milliseconds(100);
    std::uint64_t snapshot_count = 10'000;
    // The bytes by which the log may grow in memory since the last snapshot before the next one is
    // due, however few entries that are.
    std::size_t snapshot_size_bytes = std::size_t{128} << 20;
    CatchUpLog::Limits catch_up{};
    Duration election_timeout = std::chrono::seconds(1);
    // A member that starts, and finds a majority connected but no leader, campaigns sooner.
    bool hurry_first_election = true;
    Duration request_timeout = std::chrono::seconds(7);
    std::size_t max_waiting_proposals = 50'000;
    std::size_t max_waiting_proposal_bytes = std::size_t{256} << 20;
    // The bound of peers' messages that the raft executor has not processed yet.
    std::size_t max_waiting_messages = 16'384;
    std::size_t max_waiting_message_bytes = std::size_t{256} << 20;
    // The bound of batches of linearizable reads that are not answered yet.
    std::size_t max_waiting_reads = 50'000;
    // The lag of watchers, in revisions, past which key writes wait; 0: they never do.
    std::uint64_t max_watch_lag = 0;
  };
  // Called on the raft executor.
  struct Hooks {
    // A follower needs a snapshot at least as new as this kSnap names.
    std::function<void(raft::Message message)> send_snapshot;
    // A peer's kSnap of this index came, and Raft does not want its snapshot.
    std::function<void(raft::Index index)> snapshot_ignored;
    // RaftStatus::leading_term() has changed. May be empty.
    std::function<void()> leadership_changed;
    // WatcherPace; may be empty without a bound.
    WatcherPace::Lag watch_lag;
    // Entries are to be read from the log's segments; then Fetched. Empty: none can be.
    std::function<void(raft::Fetch fetch)> fetch{};
    // raft::LostData::index() is another one. May be empty.
    std::function<void(raft::Index index)> lost_data_changed{};
    // The index up to which the log's segments may go, when they might up to `index`. Empty: so
    // far.
    std::function<raft::Index(raft::Index index)> release_bound{};
  };

  // The objects to which the replica hands its work and its reports; they outlive it.
  struct Parts {
    LogWriter& log;
    ApplyLoop& apply;
    WaitTable& waiters;
    RequestIdSource& ids;
    RaftStatus& status;
    Executor& raft;
  };

  // `snapshot_index` is that of the log's last snapshot.
  Replica(std::unique_ptr<raft::Node> node, const Parts& parts, raft::Index snapshot_index,
          Options options, Hooks hooks);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  ~Replica();

  void Start(Transport& transport);
  // Fails waiting calls with "server stopped" and takes nothing more; `done` runs on the raft
  // executor.
  void Stop(Task done);

  // ---- any thread ----
  // The waiter of each is called once. Ids are unique.
  void Propose(std::vector<Proposal> proposals);
  // The task runs, on the raft or apply executor, when a state is applied that contains everything
  // committed before the call.
  void ReadIndex(ReadTask task);
  // A peer's message. Returns false if it was dropped, since too many wait.
  bool Receive(raft::Message message);
  // Several, in one hand-off; those without room are dropped.
  void ReceiveAll(std::vector<raft::Message> messages);
  void Unreachable(raft::MemberId peer);
  void SnapshotSent(raft::MemberId peer, bool succeeded);

  // The callbacks run on the raft executor.
  using Callback = LeadershipMoves::Callback;
  // Checks whether a learner could vote: its log has at least 90 % of the leader's. kErrNotLeader,
  // kErrMemberNotFound, kErrLearnerNotReady.
  void CheckLearner(raft::MemberId id, Callback callback);
  // Transfers leadership to a voter, and calls back when it leads. kErrNotLeader,
  // kErrBadLeaderTransferee, kErrTimeoutLeaderTransfer.
  void MoveLeader(raft::MemberId to, TimePoint deadline, Callback callback);
  // A follower's database is to be replaced: the two calls of raft::Node. The callback gets false
  // if that has begun already, and is not over. kErrNotLeader; kUnavailable for a member that is
  // silent, or no member.
  void HoldForSnapshot(raft::MemberId to,
                       std::move_only_function<void(Result<bool> held)> callback);
  void SendHeldSnapshot(raft::MemberId to);
  // This member, or a peer, has lost data: see raft::Node.
  void LoseData();
  void FollowerLostData(raft::MemberId peer);
  // The outcome of Hooks::fetch.
  void Fetched(raft::MemberId peer, raft::Index from, std::vector<raft::Entry> entries);
  // If this member leads and another one can: transfers leadership to the connected one with most
  // of the log. `done` runs when it leads, or after `limit`.
  void GiveUpLeadership(Duration limit, Task done);
  // The same to one of these members.
  void GiveUpLeadershipTo(std::vector<raft::MemberId> among, Duration limit, Task done);

  const RaftStatus& status() const { return status_; }
  raft::Index commit_index() const { return status_.commit_index(); }
  raft::Index applied_index() const { return status_.applied_index(); }
  raft::Term term() const { return status_.term(); }
  raft::MemberId leader() const { return status_.leader(); }
  bool is_leaderless() const { return status_.is_leaderless(); }
  raft::Term leading_term() const { return status_.leading_term(); }
  std::uint64_t refused_messages() const { return status_.refused_messages(); }
  std::uint64_t repeated_proposals() const { return status_.repeated_proposals(); }
  const Clock& clock() const { return raft_.clock(); }
  const WaitingProposals& waiting_proposals() const { return proposals_; }
  const ReadRounds::Counts& read_counts() const { return reads_.counts(); }
  std::size_t waiting_reads() const { return depths_.reads.load(std::memory_order_relaxed); }
  const ReplicaDepths& depths() const { return depths_; }
  const Options& options() const { return options_; }

  // ---- raft executor ----
  const raft::Node& node() const { return *node_; }
  // The node's own; nothing is published that it does not know, and no queue is past its bound. For
  // tests and the simulation.
  void CheckInvariants() const;

  // ---- reports, from the executors that the comments name ----
  void Persisted(std::uint64_t ready_number);  // wal
  void SnapshotEnded(raft::Index index);       // wal
  void Applied(raft::Index index);             // apply
  // apply, before Applied passes it
  void ConfChanged(raft::Index index, const raft::ConfChange& change);
  // apply: a snapshot of the leader has replaced the store; before Applied of its index
  void SnapshotInstalled(const raft::SnapshotMetadata& metadata);
  // backend: the store has everything up to it on disk
  void BackendDurable(raft::Index index);

 private:
  // Everything that other threads handed over since the raft executor last looked.
  struct Arrived {
    std::vector<Proposal> proposals;
    std::vector<ReadTask> reads;
    std::vector<raft::Message> messages;
    std::size_t message_bytes = 0;
    std::vector<raft::MemberId> unreachable;
    std::vector<std::pair<raft::MemberId, bool>> snapshots_sent;
    std::optional<raft::SnapshotMetadata> installed;
    std::uint64_t persisted = 0;
    raft::Index applied = 0;
    raft::Index durable = 0;
    std::optional<raft::Index> snapshot_ended;
    std::vector<std::pair<raft::Index, raft::ConfChange>> conf_changes;
  };

  struct Logs {
    EventLog events;
    RefusalLog refusals;
  };

  // Returns false if there is no room.
  bool PutMessage(Arrived& arrived, raft::Message&& message);
  void Drain();
  void TakeProgress(Arrived& arrived);
  void Refuse(Arrived& arrived);
  // A member that is the only voter need not wait for a time-out to know that no other member
  // leads.
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
  // True if it is bound to a term in which this member does not lead.
  bool IsOfAnotherTerm(const Proposal& proposal) const;
  std::uint64_t AskForReads();
  void HandOver(raft::MemberId successor, Duration limit, Task done);
  void EndMoves();
  void MaybeSnapshot();
  void PublishState();

  Executor& raft_;
  LogWriter& log_;
  ApplyLoop& apply_;
  RequestIdSource& ids_;
  RaftStatus& status_;
  const Options options_;
  const Hooks hooks_;
  Inbox<Arrived> inbox_;
  WaitingProposals proposals_;
  ReplicaDepths depths_;

  // State of the raft executor.
  std::unique_ptr<raft::Node> node_;
  Transport* transport_ = nullptr;
  bool stopped_ = false;
  TimePoint last_tick_;
  ReadRounds reads_;
  LeadershipMoves moves_;
  FirstElection first_election_;
  TimeoutCause timeout_cause_;
  LogSnapshots snapshots_;
  TakenProposals taken_proposals_;
  WatcherPace pace_;
  Logs logs_;
};

}  // namespace kvorum::server
