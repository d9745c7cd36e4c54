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
#include <string>
#include <vector>

#include "base/error.h"
#include "base/executor.h"
#include "base/file_system.h"
#include "mvcc/backend.h"
#include "mvcc/store.h"
#include "server/alarms.h"
#include "server/applier.h"
#include "server/apply_loop.h"
#include "server/disk_space.h"
#include "server/log_writer.h"
#include "server/membership.h"
#include "server/quota.h"
#include "server/replica.h"
#include "server/request_id.h"
#include "server/transport.h"
#include "server/wait_table.h"
#include "wal/wal.h"

namespace kvorum::server {

struct InstanceOptions {
  // Of a new cluster; ignored when the log exists.
  std::string name;
  std::string initial_cluster;
  std::string initial_cluster_token;
  bool join_existing = false;  // there is a cluster already, which this member would join

  std::string wal_dir;
  std::string snap_dir;
  std::uint64_t quota_bytes = 0;
  std::uint64_t seed = 0;

  raft::Config raft;  // id and seed are set by the instance
  Replica::Options replica;
  LogWriter::Options log;  // snap_dir is set by the instance
  Duration slow_apply{};   // ApplyLoop
  wal::Options wal;
  mvcc::StoreOptions store;  // hooks are set by the instance
  mvcc::LeaseChecker* leases = nullptr;
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

  // `open_backend` is called once the log is known to be usable.
  static Result<std::unique_ptr<Instance>> Open(
      FileSystem& fs, const std::function<Result<std::unique_ptr<mvcc::Backend>>()>& open_backend,
      InstanceExecutors executors, InstanceOptions options, FatalHandler on_fatal);

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
  Replica& replica() { return *replica_; }
  mvcc::Store& store() { return *store_; }
  Membership& membership() { return *membership_; }
  Alarms& alarms() { return alarms_; }
  // Whether a write may still be taken, as far as the disks go.
  bool DiskTakesWrites();
  Quota& quota() { return *quota_; }
  RequestIdSource& ids() { return *ids_; }

 private:
  Instance(InstanceExecutors executors, FatalHandler on_fatal)
      : executors_(executors), on_fatal_(std::move(on_fatal)) {}

  // What was found in the log, or written into a new one.
  struct Log {
    std::unique_ptr<wal::Writer> writer;
    raft::Restart restart;
  };
  Result<Log> OpenLog(FileSystem& fs, const InstanceOptions& options);
  Result<Log> CreateLog(FileSystem& fs, const InstanceOptions& options);
  // Writes the first entries of a new cluster.
  Result<void> WriteBootstrap(const InstanceOptions& options, const std::vector<Member>& members,
                              Log& log);
  Result<void> OpenStore(FileSystem& fs, std::unique_ptr<mvcc::Backend> backend,
                         const InstanceOptions& options);
  Result<void> CheckTogether(const Log& log) const;
  Result<void> LoadReplicatedState();
  Result<void> BuildReplica(FileSystem& fs, Log log, InstanceOptions options);
  void RaiseNoSpace(Task answer);
  void SendSnapshot(raft::Message message);

  const InstanceExecutors executors_;
  const FatalHandler on_fatal_;
  wal::Metadata metadata_;
  std::unique_ptr<mvcc::Store> store_;
  std::unique_ptr<Membership> membership_;
  Alarms alarms_;
  std::unique_ptr<DiskSpace> disk_space_;
  std::unique_ptr<Quota> quota_;
  WaitTable waiters_;
  std::unique_ptr<RequestIdSource> ids_;
  std::unique_ptr<Applier> applier_;
  std::unique_ptr<LogWriter> log_;
  std::unique_ptr<ApplyLoop> apply_loop_;
  std::unique_ptr<Replica> replica_;
  Transport* transport_ = nullptr;
};

}  // namespace kvorum::server
