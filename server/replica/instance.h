// One member's replica with all that it stands on, put together over the interfaces to the outside:
// the same code over the machine's disk and threads, over a faulty disk in a test, and in the
// simulation.
//
// Open finds or makes the log, checks that log and backend belong together, and rebuilds the state;
// Start begins to run; from then on the transport may call (TransportReceiver). The owner calls
// Stop and waits for its callback, stops the executors, then destroys the instance. Errors of Open
// leave the data as it was: kDataLoss and kFailedPrecondition say which file and what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "auth/auth_store.h"
#include "auth/simple_tokens.h"
#include "base/error.h"
#include "base/executor.h"
#include "base/file_system.h"
#include "lease/lessor.h"
#include "mvcc/backend.h"
#include "mvcc/store.h"
#include "server/apply/applier.h"
#include "server/apply/apply_loop.h"
#include "server/apply/auth_applier.h"
#include "server/apply/wait_table.h"
#include "server/peer/peer_request.h"
#include "server/peer/transport.h"
#include "server/replica/disk_space.h"
#include "server/replica/joining.h"
#include "server/replica/lease_expiry.h"
#include "server/replica/log_writer.h"
#include "server/replica/replica.h"
#include "server/replica/request_id.h"
#include "server/replica/snapshot_intake.h"
#include "server/replica/space_watch.h"
#include "server/state/alarms.h"
#include "server/state/auth_states.h"
#include "server/state/leases.h"
#include "server/state/membership.h"
#include "server/state/quota.h"
#include "server/state/raft_status.h"
#include "server/state/replicated_state.h"
#include "wal/wal.h"

namespace kvorum::server {

struct InstanceOptions {
  // Of a new cluster; ignored when the log exists.
  std::string name;
  std::string initial_cluster;
  std::string initial_cluster_token;
  bool join_existing = false;  // there is a cluster already, which this member would join
  // To ask the others before there is data; may be null: then nobody can be asked.
  PeerRequester* peers = nullptr;
  // How long a member of a new cluster waits for others that may know it already.
  Duration bootstrap_timeout = std::chrono::seconds(2);

  // Makes a cluster of this member alone of the data that it has: what was not committed is
  // dropped, and entries are added that remove all others (server/replica/force_new_cluster.h).
  bool force_new_cluster = false;
  // Checked against initial_cluster, unless there are none.
  std::vector<std::string> advertise_peer_urls;

  std::string wal_dir;
  std::string snap_dir;
  std::uint64_t quota_bytes = 0;
  std::uint64_t seed = 0;

  raft::Config raft;  // id and seed are set by the instance
  Replica::Options replica;
  LogWriter::Options log;  // snap_dir is set by the instance
  Duration slow_apply{};   // ApplyLoop
  Applier::Bounds apply;
  wal::Options wal;
  mvcc::StoreOptions store;  // hooks are set by the instance
  lease::Lessor::Options lease;
  LeaseExpiry::Options lease_expiry;  // its time-outs are set by the instance
  // Who has logged in; outlives the instance. Null: this member gives no simple tokens.
  auth::SimpleTokens* simple_tokens = nullptr;

  // This member's own removal was applied; on the apply executor. The owner stops the instance a
  // little later, so that the others still learn of it.
  std::function<void()> on_removed;
};

struct InstanceExecutors {
  Executor& raft;
  Executor& wal;
  Executor& apply;
  Executor& backend;
  Executor& copier;
};

class Instance final : public TransportReceiver {
 public:
  using FatalHandler = std::function<void(const Error& error)>;

  // `open_backend` opens a backend at a path of `fs`, or makes one: that of the member, `db` in
  // snap_dir, once the log is known to be usable, and later those of received snapshots.
  static Result<std::unique_ptr<Instance>> Open(FileSystem& fs, mvcc::BackendOpener open_backend,
                                                InstanceExecutors executors,
                                                InstanceOptions options, FatalHandler on_fatal);

  // The transport outlives what it is given: it is stopped after Stop has called back.
  void Start(Transport& transport);
  // Fails what waits, seals the log and commits the backend; then `done` runs, on some executor.
  void Stop(Task done);

  // ---- TransportReceiver ----
  void Receive(raft::Message message) override;
  void ReceiveAll(std::vector<raft::Message> messages) override;
  void Unreachable(raft::MemberId peer) override;
  void SnapshotSent(raft::MemberId peer, bool succeeded) override;
  Result<std::unique_ptr<mvcc::SnapshotSink>> ReceiveSnapshot(raft::Message message) override;

  std::uint64_t cluster_id() const { return metadata_.cluster_id; }
  raft::MemberId member_id() const { return metadata_.node_id; }
  const RaftStatus& status() const { return *status_; }
  Replica& replica() { return *replica_; }
  mvcc::Store& store() { return *store_; }
  Membership& membership() { return *membership_; }
  Alarms& alarms() { return alarms_; }
  // True if a write may still be taken, as far as this member's disks go.
  bool DiskTakesWrites();
  Quota& quota() { return *quota_; }
  RequestIdSource& ids() { return *ids_; }
  Leases& leases() { return *leases_; }
  LeaseExpiry& lease_expiry() { return *lease_expiry_; }
  const AuthStates& auth_states() const { return *auth_states_; }

 private:
  Instance(mvcc::BackendOpener open_backend, InstanceExecutors executors,
           const InstanceOptions& options, FatalHandler on_fatal)
      : open_backend_(std::move(open_backend)),
        executors_(executors),
        on_fatal_(std::move(on_fatal)),
        snap_dir_(options.snap_dir) {}

  // What was found in the log, or written into a new one.
  struct Log {
    std::unique_ptr<wal::Writer> writer;
    raft::Restart restart;
    raft::Index snapshot_index = 0;  // which the entries in memory may begin behind
  };
  Result<Log> OpenLog(FileSystem& fs, const InstanceOptions& options);
  // The last entry that the database has, before it is opened to stay; 0 if that cannot be told.
  raft::Index LookUpDurableIndex(FileSystem& fs) const;
  // Up to where the member's database has applied the log; 0 without one.
  Result<raft::Index> AppliedIndex(FileSystem& fs) const;
  Result<Log> CreateLog(FileSystem& fs, const InstanceOptions& options);
  Result<Log> CreateJoiningLog(FileSystem& fs, const InstanceOptions& options,
                               const std::vector<Member>& members);
  // What a log without entries says of how it began: with a new cluster, whose first entries were
  // lost with the process, or as one that joined and has heard nothing yet.
  Result<void> BeginAgain(const InstanceOptions& options, Log& log);
  // Writes the first entries of a new cluster.
  Result<void> WriteBootstrap(const std::vector<Member>& members, Log& log);
  // The member's backend. A snapshot that was received, and is marked in the log, and had not taken
  // the backend's place when the process ended, takes it now.
  Result<std::unique_ptr<mvcc::Backend>> OpenBackend(FileSystem& fs, raft::Index snapshot_index);
  // Before the index of a backend is built, so that its keys find their leases.
  Result<void> LoadLeases(mvcc::Backend& backend);
  Result<void> OpenStore(FileSystem& fs, std::unique_ptr<mvcc::Backend> backend,
                         const InstanceOptions& options);
  Result<void> CheckTogether(const Log& log) const;
  Result<void> LoadReplicatedState();
  Result<void> CheckMember(const InstanceOptions& options);
  Result<void> ForceNewCluster(const InstanceOptions& options, Log& log);
  // Whom the transport is to know.
  std::shared_ptr<const MembershipView> PeersView() const;
  Result<void> StartAtBackend(raft::Restart& restart) const;
  Result<void> BuildReplica(FileSystem& fs, Log log, InstanceOptions options);
  // In this member's name.
  Alarm OwnNoSpace() const { return {.member = metadata_.node_id, .type = AlarmType::kNoSpace}; }
  void RaiseNoSpace(Task answer);
  // Sending: raft executor, then backend executor once everything applied is durable.
  void SendSnapshot(raft::Message message);
  void SendDurable(raft::Message message);
  std::unique_ptr<mvcc::SnapshotSource> Bounded(mvcc::Store::DurableSnapshot opened) const;
  Result<raft::SnapshotMetadata> MetadataOf(const mvcc::Store::Recovered& content,
                                            raft::Index at_least) const;
  // Installing: apply executor.
  void InstallSnapshot(const std::shared_ptr<const raft::Snapshot>& snapshot, Task done);
  void SnapshotInstalled(const raft::SnapshotMetadata& metadata, ReplicatedState state);
  std::string DatabasePath() const { return snap_dir_ + "/db"; }

  const mvcc::BackendOpener open_backend_;
  const InstanceExecutors executors_;
  const FatalHandler on_fatal_;
  const std::string snap_dir_;
  std::function<void()> on_removed_;
  wal::Metadata metadata_;
  std::vector<Member> remotes_;   // whom we know of before the log has told of them
  raft::Index forced_index_ = 0;  // until it is applied, there is nobody but us
  std::unique_ptr<Leases> leases_;
  lease::LeaseTable restored_leases_;  // of the content whose index is built
  std::unique_ptr<mvcc::Store> store_;
  std::unique_ptr<Membership> membership_;
  Alarms alarms_;
  std::unique_ptr<auth::AuthStore> auth_;
  std::unique_ptr<AuthStates> auth_states_;
  std::unique_ptr<AuthApplier> auth_applier_;
  std::shared_ptr<DiskSpace> disk_space_;  // shared with snapshots on their way
  std::unique_ptr<Quota> quota_;
  WaitTable waiters_;
  std::unique_ptr<RequestIdSource> ids_;
  std::unique_ptr<RaftStatus> status_;
  std::unique_ptr<Applier> applier_;
  std::unique_ptr<LogWriter> log_;
  std::unique_ptr<ApplyLoop> apply_loop_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<LeaseExpiry> lease_expiry_;
  std::unique_ptr<SpaceWatch> space_watch_;
  std::unique_ptr<SnapshotIntake> intake_;
  std::mutex sending_mutex_;
  std::set<raft::MemberId> sending_;  // to whom a snapshot is on its way
  Transport* transport_ = nullptr;
};

}  // namespace kvorum::server
