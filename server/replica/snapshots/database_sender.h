// Sends the database to followers that need entries which the log no longer has: opens a snapshot
// of it once everything applied is durable, and hands that to the transport.
//
// Threading: Send belongs to the raft executor, Ended is thread-safe; the rest runs on the backend
// executor. Bounded: two at a time, each of which keeps pages of the database from being reused and
// takes network bandwidth; the others fail, and Raft asks again. A peer that did not get one gets
// the next after a pause, which doubles with each failure: Raft asks with every heartbeat, and a
// connection that breaks after gigabytes would cost them each time. A second one for the same peer
// is dropped without a report: the first one's is about both.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "mvcc/store/store.h"
#include "proto/raft_types.h"
#include "server/replica/upkeep/disk_space.h"

namespace kvorum::server {

class Transport;

class DatabaseSender {
 public:
  static constexpr std::size_t kMaxOnTheirWay = 2;
  static constexpr Duration kFirstPause = std::chrono::milliseconds(500);
  // A cluster that needs the peer for its majority writes nothing meanwhile.
  static constexpr Duration kLongestPause = std::chrono::seconds(4);
  // The outcome of one; any thread.
  using Report = std::function<void(raft::MemberId peer, bool succeeded)>;

  // The space is shared with snapshots being sent, which may outlive this.
  // The transport's limit counts for how long one may take; 0: none.
  DatabaseSender(mvcc::Store& store, std::shared_ptr<DiskSpace> disk_space, const Clock& clock,
                 std::uint64_t limit_bytes_per_second, Report report);

  // Called before the first Send; outlives it.
  void Start(Transport& transport) { transport_ = &transport; }
  // Takes a kSnap that names the least that the follower needs.
  void Send(raft::Message message);
  // The transport is done with one: it is reported, and there is room for another.
  void Ended(raft::MemberId peer, bool succeeded);

 private:
  struct Failed {
    Duration pause{};
    TimePoint until;
  };

  enum class Begun : std::uint8_t { kYes, kSendsAlready, kNotNow };
  Begun Begin(raft::MemberId peer);
  void SendDurable(raft::Message message);
  std::unique_ptr<mvcc::SnapshotSource> Bounded(mvcc::Store::DurableSnapshot opened) const;

  mvcc::Store& store_;
  const std::shared_ptr<DiskSpace> disk_space_;
  const Clock& clock_;
  const std::uint64_t limit_bytes_per_second_;
  const Report report_;
  Transport* transport_ = nullptr;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<raft::MemberId, TimePoint> sending_;  // to which one is being sent, since when
  std::map<raft::MemberId, Failed> failed_;      // that did not get the last one
};

}  // namespace kvorum::server
