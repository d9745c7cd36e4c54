// What applying one log entry gave, as values that the proposer's side turns into its answer.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "base/error.h"
#include "lease/lease_record.h"
#include "mvcc/txn.h"
#include "proto/raft_types.h"
#include "server/alarms.h"
#include "server/membership.h"

namespace kvorum::server {

struct CompactionResult {
  std::int64_t revision = 0;  // the header's
};

struct AlarmResult {
  std::int64_t revision = 0;
  std::vector<Alarm> alarms;  // what changed, or what was asked for
};

struct MembershipResult {
  std::shared_ptr<const MembershipView> view;  // behind the change
};

struct LeaseGrantResult {
  std::int64_t revision = 0;
  lease::LeaseId id = lease::kNoLease;
  std::int64_t ttl_s = 0;
};

struct LeaseRevokeResult {
  std::int64_t revision = 0;  // behind the deletion of its keys
};

struct ApplyResult {
  raft::Term term = 0;
  // monostate: an entry whose effect needs no words.
  using Value = std::variant<std::monostate, mvcc::PutResult, mvcc::DeleteRangeResult,
                             mvcc::TxnResult, CompactionResult, AlarmResult, MembershipResult,
                             LeaseGrantResult, LeaseRevokeResult>;
  Result<Value> value;
};

}  // namespace kvorum::server
