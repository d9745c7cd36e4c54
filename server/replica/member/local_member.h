// One member's replica with everything that it is built on, assembled over the interfaces to the
// outside: the same code over the machine's disk and threads, over a faulty disk in a test, and in
// the simulation.
//
// Open finds or creates the log, checks that log and backend belong together, and rebuilds the
// state; Start begins to run; from then on the transport may call (TransportReceiver). The owner
// calls Stop and waits for its callback, stops the executors, then destroys the member.
// Errors of Open leave the data as it was: kDataLoss and kFailedPrecondition name the file and the
// remedy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "base/task.h"
#include "mvcc/lmdb/backend.h"
#include "proto/raft_types.h"
#include "server/peer/codec/transport.h"
#include "server/replica/member/member_state.h"

namespace kvorum::server {

class Applier;
class ApplyLoop;
class ApplyTimes;
class DatabaseSender;
class Housekeeping;
class IncarnationGuard;
class Incarnations;
class KnownPeers;
class LeaseExpiry;
class LogWriter;
class RaftStatus;
class Replica;
class RequestIdSource;
class SnapshotIntake;
class StoredEntries;
class WaitTable;
struct LocalMemberOptions;
struct RecoveredLog;

// The executors of a member's work.
struct LocalMemberExecutors {
  Executor& raft;
  Executor& wal;
  Executor& apply;
  Executor& backend;
  Executor& copier;
};

class LocalMember final : public TransportReceiver {
 public:
  using FatalHandler = std::function<void(const Error& error)>;

  ~LocalMember() override;

  // `open_backend` opens a backend at a path of `fs`, or creates one: the member's, `db` in
  // snap_dir, once the log is known to be usable, and later those of received snapshots.
  static Result<std::unique_ptr<LocalMember>> Open(FileSystem& fs, mvcc::BackendOpener open_backend,
                                                   LocalMemberExecutors executors,
                                                   LocalMemberOptions options,
                                                   FatalHandler on_fatal);

  // Applier::RefuseAuthWhileJoining; before Start.
  void RefuseAuthWhileJoining(std::string text);

  // The transport outlives this use: it is stopped after Stop has called back.
  void Start(Transport& transport);
  // Fails waiting calls, seals the log and commits the backend; then `done` runs, on some executor.
  void Stop(Task done);

  // ---- TransportReceiver ----
  void Receive(raft::Message message) override;
  void ReceiveAll(std::vector<raft::Message> messages) override;
  void Unreachable(raft::MemberId peer) override;
  void SnapshotSent(raft::MemberId peer, bool succeeded) override;
  Result<std::unique_ptr<mvcc::SnapshotSink>> ReceiveSnapshot(raft::Message message) override;

  std::uint64_t cluster_id() const { return cluster_id_; }
  raft::MemberId member_id() const { return member_id_; }
  const RaftStatus& status() const { return *status_; }
  Replica& replica() { return *replica_; }
  mvcc::Store& store() { return state_->store(); }
  Membership& membership() { return state_->membership(); }
  Alarms& alarms() { return state_->alarms(); }
  // True if this member's disks have room for a write. A few atomic loads.
  bool DiskTakesWrites();
  Quota& quota() { return state_->quota(); }
  RequestIdSource& ids() { return *ids_; }
  Leases& leases() { return state_->leases(); }
  LeaseExpiry& lease_expiry() { return *lease_expiry_; }
  const AuthStates& auth_states() const { return state_->auth_states(); }
  IncarnationGuard& incarnations();
  const LogWriter& log() const { return *log_; }
  const ApplyTimes& apply_times() const;
  // Those of the replica, the apply loop, the leases and the store, while none of the executors
  // works: for tests and the simulation. O(keys).
  void CheckInvariants() const;

 private:
  LocalMember(mvcc::BackendOpener open_backend, LocalMemberExecutors executors,
              FatalHandler on_fatal);

  Result<void> OpenState(FileSystem& fs, const RecoveredLog& log,
                         const LocalMemberOptions& options);
  Result<void> BuildReplica(FileSystem& fs, RecoveredLog log, LocalMemberOptions options);
  std::function<void(raft::Index applied)> TellApplied(LocalMemberOptions& options);
  std::function<raft::Index(raft::Index index)> BoundRelease(LocalMemberOptions& options);
  void BuildApplier(const LocalMemberOptions& options);
  void BuildLogWriter(FileSystem& fs, RecoveredLog& log, const LocalMemberOptions& options);
  void BuildStored(FileSystem& fs, const std::string& wal_dir);
  void BuildSnapshots(FileSystem& fs, const LocalMemberOptions& options);
  void BuildHousekeeping(LocalMemberOptions& options);
  void TellTransport();
  // Runs on the apply executor.
  void ConfChanged(raft::Index index, const raft::ConfChange& change);
  void InstallSnapshot(const std::shared_ptr<const raft::Snapshot>& snapshot, Task done);
  void SnapshotInstalled(const raft::SnapshotMetadata& metadata);

  const mvcc::BackendOpener open_backend_;
  const LocalMemberExecutors executors_;
  const FatalHandler on_fatal_;
  std::function<void()> on_removed_;
  std::uint64_t cluster_id_ = 0;
  raft::MemberId member_id_ = raft::kNone;
  std::unique_ptr<MemberState> state_;
  std::unique_ptr<Incarnations> incarnations_;
  std::unique_ptr<KnownPeers> peers_;
  std::unique_ptr<WaitTable> waiters_;
  std::unique_ptr<RequestIdSource> ids_;
  std::unique_ptr<RaftStatus> status_;
  std::unique_ptr<Applier> applier_;
  std::unique_ptr<LogWriter> log_;
  std::unique_ptr<StoredEntries> stored_;
  std::unique_ptr<ApplyLoop> apply_loop_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<LeaseExpiry> lease_expiry_;
  std::unique_ptr<Housekeeping> housekeeping_;
  std::unique_ptr<SnapshotIntake> intake_;
  std::unique_ptr<DatabaseSender> sender_;
  Transport* transport_ = nullptr;
};

}  // namespace kvorum::server
