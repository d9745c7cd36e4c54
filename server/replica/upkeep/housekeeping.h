// A member's care for its own space: the watch over its disks and quota, automatic compaction.
//
// Works on the backend executor, where nothing of it takes longer than a proposal. Ownership: the
// owner stops it before the replica, and the executors before it destroys this.
#pragma once

#include <functional>
#include <memory>

#include "api/alarm.h"
#include "base/task.h"
#include "proto/raft_types.h"
#include "server/replica/drive/own_requests.h"
#include "server/replica/upkeep/compaction_schedule.h"

namespace kvorum::mvcc {
class Store;
}  // namespace kvorum::mvcc

namespace kvorum::server {

class Alarms;
class AutoCompaction;
class Membership;
class Quota;
class RaftStatus;
class SpaceWatch;

class Housekeeping {
 public:
  struct Parts {
    Executor& executor;
    mvcc::Store& store;
    const Alarms& alarms;
    const Membership& membership;
    const Quota& quota;
    const RaftStatus& status;
    Replica& replica;
    RequestIdSource& ids;
    raft::MemberId self;
  };
  struct Options {
    CompactionPolicy compaction;
    Duration request_timeout = std::chrono::seconds(7);
  };
  // Called once a second.
  struct Disks {
    // Asks the file systems: true if accepted writes and some more find room.
    std::function<bool()> have_space;
    // True if a full disk's alarm may end.
    std::function<bool()> have_room_to_spare;
  };
  Housekeeping(const Parts& parts, const Options& options, Disks disks);
  ~Housekeeping();

  void Start();
  // Nothing is proposed from now on. Any thread.
  void Stop();
  // Proposes the alarm in this member's name; `answered` runs on any thread when it was applied, or
  // failed. Any thread.
  void RaiseNoSpace(Task answered);

 private:
  void Propose(AlarmAction action, const Alarm& alarm, Task answered);

  OwnRequests requests_;
  const Alarm no_space_;  // in this member's name
  const Duration request_timeout_;
  std::unique_ptr<SpaceWatch> space_watch_;
  std::unique_ptr<AutoCompaction> auto_compaction_;
};

}  // namespace kvorum::server
