// The results of applying one log entry, as values that the proposer's side turns into its answer.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "api/alarm.h"
#include "api/member.h"
#include "base/answer_memory.h"
#include "base/error.h"
#include "lease/lease_record.h"
#include "mvcc/records/txn.h"
#include "proto/raft_types.h"

namespace kvorum::server {

struct CompactionResult {
  std::int64_t revision = 0;  // the header's
};

struct AlarmResult {
  std::int64_t revision = 0;
  std::vector<Alarm> alarms;  // those changed, or those requested
};

struct MembershipResult {
  std::shared_ptr<const MembershipView> view;  // after the change
};

struct LeaseGrantResult {
  std::int64_t revision = 0;
  lease::LeaseId id = lease::kNoLease;
  std::int64_t ttl_s = 0;
};

struct LeaseRevokeResult {
  std::int64_t revision = 0;  // after the deletion of its keys
};

struct AuthResult {
  std::int64_t revision = 0;  // of the store, as all headers'
};

struct LoginResult {
  std::int64_t revision = 0;
  std::uint64_t auth_revision = 0;
  std::string simple_token;  // empty: this member issues another kind
};

struct ApplyResult {
  raft::Index index = 0;
  raft::Term term = 0;
  // For the rows of a large answer, until its connection has the answer.
  AnswerMemory::Reservation held{};
  // monostate: an entry without a result.
  using Value = std::variant<std::monostate, mvcc::PutResult, mvcc::DeleteRangeResult,
                             mvcc::TxnResult, CompactionResult, AlarmResult, MembershipResult,
                             LeaseGrantResult, LeaseRevokeResult, AuthResult, LoginResult>;
  Result<Value> value;
};

}  // namespace kvorum::server
