// One log entry to be proposed, and its waiter.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/shared_bytes.h"
#include "proto/raft_types.h"
#include "server/apply/wait_table.h"

namespace kvorum::server {

struct Proposal {
  std::uint64_t id = 0;  // also in the entry
  SharedBytes data;
  TimePoint deadline;
  std::unique_ptr<Waiter> waiter;  // may be null
  raft::EntryType type = raft::EntryType::kNormal;
  // Not 0: only this member's own log takes it, as the leader of this term; otherwise it fails with
  // kErrNotPrimary and is not proposed.
  raft::Term only_in_term = 0;
  // A client's put, delete or transaction, for which this member's watchers may be waited for
  // (watcher_pace.h).
  bool is_key_write = false;
  // It may be proposed again while its waiter waits (IsRepeatable): a forwarded one may get lost.
  bool is_repeatable = false;
};

}  // namespace kvorum::server
