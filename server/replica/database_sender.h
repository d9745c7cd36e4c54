// Sends the database to followers that need entries which the log no longer has: opens a snapshot
// of it once everything applied is durable, and hands that to the transport.
//
// Threading: Send belongs to the raft executor, Ended is thread-safe; the rest runs on the backend
// executor. Bounded: two at a time, each of which keeps pages of the database from being reused and
// takes network bandwidth; the others fail, and Raft asks again.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/executor.h"
#include "mvcc/store.h"
#include "proto/raft_types.h"
#include "server/replica/disk_space.h"

namespace kvorum::server {

class Transport;

class DatabaseSender {
 public:
  static constexpr std::size_t kMaxOnTheirWay = 2;
  // The outcome of one; any thread.
  using Report = std::function<void(raft::MemberId peer, bool succeeded)>;

  // The space is shared with snapshots being sent, which may outlive this.
  DatabaseSender(mvcc::Store& store, std::shared_ptr<DiskSpace> disk_space, const Clock& clock,
                 Report report);

  // Called before the first Send; outlives it.
  void Start(Transport& transport) { transport_ = &transport; }
  // Takes a kSnap that names the least that the follower needs.
  void Send(raft::Message message);
  // The transport is done with one: it is reported, and there is room for another.
  void Ended(raft::MemberId peer, bool succeeded);

 private:
  bool Begin(raft::MemberId peer);
  void SendDurable(raft::Message message);
  std::unique_ptr<mvcc::SnapshotSource> Bounded(mvcc::Store::DurableSnapshot opened) const;

  mvcc::Store& store_;
  const std::shared_ptr<DiskSpace> disk_space_;
  const Clock& clock_;
  const Report report_;
  Transport* transport_ = nullptr;
  std::mutex mutex_;
  std::set<raft::MemberId> sending_;  // to which one is being sent; guarded by mutex_
};

}  // namespace kvorum::server
