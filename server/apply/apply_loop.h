// Feeds committed entries to the Applier in batches, and runs linearizable reads once the entries
// they must see are applied.
//
// Push, PushSnapshot, WaitApplied and Stop are thread-safe; entries are pushed in log order by the
// raft executor. The work runs on the apply executor; a short put that nothing is before runs
// within Push, which saves a lone client a wake-up (decision 0045). A snapshot takes its turn after
// the entries that were pushed before it; nothing is applied while it is installed. An entry that
// cannot be applied is the last: the loop stops there.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/inbox.h"
#include "base/task.h"
#include "mvcc/store/store.h"
#include "proto/raft_types.h"
#include "server/apply/applied_reads.h"
#include "server/apply/applier.h"

namespace kvorum::server {

class ApplyLoop {
 public:
  using AppliedHook =
      std::function<void(raft::Index applied)>;  // on the apply executor, once per batch

  // Installs a snapshot, then runs `done`, both on the apply executor.
  using InstallHook =
      std::function<void(const std::shared_ptr<const raft::Snapshot>& snapshot, Task done)>;

  // A batch that takes longer than slow_apply is logged; 0: never.
  ApplyLoop(mvcc::Store& store, Applier& applier, Executor& apply, RaftStatus& status,
            Duration slow_apply, AppliedHook on_applied, InstallHook install);

  void Push(std::vector<raft::Entry> entries);
  void PushSnapshot(std::shared_ptr<const raft::Snapshot> snapshot);
  // Like AppliedReads::Wait.
  void WaitApplied(raft::Index index, TimePoint deadline, ReadTask task) {
    reads_.Wait(index, deadline, std::move(task));
  }
  void ExpireWaiting(TimePoint now) { reads_.Expire(now); }
  // Drops waiting and later entries; reads fail.
  void Stop();
  // Entries that wait follow each other, and the state that they are applied to. On the apply
  // executor; for tests and the simulation.
  void CheckInvariants() const;

 private:
  // Entries, or a snapshot.
  struct Item {
    std::vector<raft::Entry> entries;
    std::shared_ptr<const raft::Snapshot> snapshot;
  };

  bool Take(std::deque<Item>& items, Item item) const;
  void Drain();
  Item Next();
  void SetApplied(raft::Index applied);
  void WarnIfSlow(Duration took, std::span<const raft::Entry> batch) const;

  mvcc::Store& store_;
  Applier& applier_;
  Executor& apply_;
  const Duration slow_apply_;
  const AppliedHook on_applied_;
  const InstallHook install_;
  RaftStatus& status_;
  AppliedReads reads_;
  std::atomic<bool> is_stopped_{false};
  Inbox<std::deque<Item>> inbox_;

  // State of the apply executor.
  std::deque<Item> taken_;         // taken from the inbox, not applied yet
  std::vector<raft::Entry> left_;  // of the last batch, for which there was no room
};

}  // namespace kvorum::server
