// One member's replica: drives the Raft core, takes proposals and linearizable reads from any
// thread in batches, and hands its output to the log, the apply loop and (with peers) the
// transport.
//
// Propose, ReadIndex and the accessors are thread-safe; everything about the core itself runs on
// the raft executor, which never waits for a disk. The owner stops the replica, then the executors,
// then destroys it. Bounds: proposals that nobody has answered yet (Options), reads that wait for a
// quorum (the core's); past them a client is told that there are too many requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "proto/raft_types.h"
#include "raft/node.h"
#include "server/apply_loop.h"
#include "server/log_writer.h"
#include "server/proposal.h"
#include "server/request_batcher.h"
#include "server/request_id.h"
#include "server/wait_table.h"

namespace kvorum::server {

class Replica {
 public:
  struct Options {
    Duration tick = std::chrono::milliseconds(100);
    std::uint64_t snapshot_count = 10'000;
    Duration request_timeout = std::chrono::seconds(7);
    std::size_t max_waiting_proposals = 50'000;
    std::size_t max_waiting_proposal_bytes = std::size_t{256} << 20;
  };

  // `conf_state` is that of the node's snapshot.
  Replica(std::unique_ptr<raft::Node> node, LogWriter& log, ApplyLoop& apply, WaitTable& waiters,
          RequestIdSource& ids, Executor& raft, raft::Index snapshot_index, Options options);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  void Start();
  // Fails what waits with "server stopped" and takes nothing more; `done` runs on the raft
  // executor.
  void Stop(Task done);

  // ---- any thread ----
  // The waiter of each is called once. Ids are unique.
  void Propose(std::vector<Proposal> proposals);
  // The task runs, on the raft or apply executor, when a state is applied that contains everything
  // committed before the call.
  void ReadIndex(ReadTask task);

  raft::Index commit_index() const { return commit_index_.load(std::memory_order_acquire); }
  raft::Index applied_index() const { return apply_.applied_index(); }
  raft::Term term() const { return term_.load(std::memory_order_acquire); }
  raft::MemberId leader() const { return leader_.load(std::memory_order_acquire); }
  const Clock& clock() const { return raft_.clock(); }

  // ---- reports, from the executors that the names say ----
  void Persisted(std::uint64_t ready_number);  // wal
  void SnapshotEnded(raft::Index index);       // wal
  void Applied(raft::Index index);             // apply
  void ConfChanged(raft::Index index,
                   const raft::ConfChange& change);  // apply, before Applied passes it
  void BackendDurable(raft::Index index);  // backend: the store holds everything up to it on disk

 private:
  // What other threads handed over since the raft executor last looked.
  struct Inbox {
    std::vector<Proposal> proposals;
    std::vector<ReadTask> reads;
    std::uint64_t persisted = 0;
    raft::Index applied = 0;
    raft::Index durable = 0;
    raft::Index compact = 0;
    bool snapshot_ended = false;
    std::vector<std::pair<raft::Index, raft::ConfChange>> conf_changes;
  };
  struct ReadAttempt {
    std::vector<ReadTask> tasks;
    TimePoint asked;     // this attempt
    TimePoint deadline;  // of all attempts
  };

  template <class Change>
  void HandOver(Change&& change);
  void Drain();
  // A member that is the only voter need not wait for a time-out to know that nobody else leads.
  void MaybeCampaignAlone();
  void OnTick();
  void ArmTick();
  void ProcessReady();
  void HandleReady(raft::Ready ready);
  void ProposeAll(std::vector<Proposal> proposals);
  void FailProposal(std::uint64_t id, const Error& error);
  void StartReads(std::vector<ReadTask> tasks, TimePoint deadline);
  void RetryReads();
  void MaybeSnapshot();
  void PublishState();

  Executor& raft_;
  LogWriter& log_;
  ApplyLoop& apply_;
  WaitTable& waiters_;
  RequestIdSource& ids_;
  const Options options_;

  std::mutex mutex_;  // guards the next two
  Inbox inbox_;
  bool drain_posted_ = false;

  std::atomic<raft::Index> commit_index_{0};
  std::atomic<raft::Term> term_{0};
  std::atomic<raft::MemberId> leader_{raft::kNone};
  std::atomic<std::size_t> waiting_bytes_{0};

  // Of the raft executor.
  std::unique_ptr<raft::Node> node_;
  bool stopped_ = false;
  std::vector<Proposal> leaderless_;  // proposed while there was no leader
  std::map<std::uint64_t, ReadAttempt> reads_;
  raft::Index snapshot_index_;  // of the last snapshot begun
  raft::Index durable_index_ = 0;
  bool snapshot_running_ = false;
  std::vector<std::pair<raft::Index, raft::ConfState>> conf_states_;  // from which index each holds
};

}  // namespace kvorum::server
