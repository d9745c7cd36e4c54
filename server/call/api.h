// The API: one row for every method (method.h). A method without a row cannot be served.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/auth_messages.h"
#include "api/cluster_encode.h"
#include "api/downgrade.h"
#include "api/kv_decode.h"
#include "api/lease_messages.h"
#include "api/lock_messages.h"
#include "api/maintenance_encode.h"
#include "auth/permission.h"
#include "lease/lease_record.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/txn.h"
#include "server/apply/apply_result.h"
#include "server/call/method.h"

namespace kvorum::server {

// ---- responses without a type elsewhere ----

// Rows are encoded while they are read, directly from the store.
struct EncodedRows {};
struct LeaseTimeToLiveResponse {
  lease::LeaseId id = lease::kNoLease;
  LeaseTimes times;
};
using Members = std::shared_ptr<const MembershipView>;
struct MemberAddResponse {
  Member added;
  Members members;  // after the change
};
struct HashKvResponse {
  std::uint32_t hash = 0;
  std::int64_t compact_revision = 0;
  std::int64_t hash_revision = 0;
};
struct Elected {
  std::string name;
  std::string key;
  std::int64_t created = 0;
  lease::LeaseId lease = lease::kNoLease;
};
struct AuthStatusResponse {
  bool enabled = false;
  std::uint64_t revision = 0;
};
using Names = std::vector<std::string>;
using Permissions = std::vector<auth::Permission>;

namespace api {

// ---- etcdserverpb.KV ----
extern const Method<mvcc::RangeRequest, EncodedRows> kRange;
extern const StreamMethod kRangeStream;
extern const Method<mvcc::PutRequest, mvcc::PutResult> kPut;
extern const Method<mvcc::DeleteRangeRequest, mvcc::DeleteRangeResult> kDeleteRange;
extern const Method<mvcc::TxnRequest, mvcc::TxnResult> kTxn;
extern const Method<CompactionRequest, CompactionResult> kCompact;

// ---- etcdserverpb.Watch ----
extern const StreamMethod kWatch;

// ---- etcdserverpb.Lease ----
extern const Method<LeaseGrantRequest, LeaseGrantResult> kLeaseGrant;
extern const Method<lease::LeaseId, LeaseRevokeResult> kLeaseRevoke;
extern const StreamMethod kLeaseKeepAlive;
extern const Method<LeaseTimeToLiveRequest, LeaseTimeToLiveResponse> kLeaseTimeToLive;
extern const Method<EmptyMessage, std::vector<lease::LeaseId>> kLeaseLeases;

// ---- etcdserverpb.Cluster ----
extern const Method<MemberRequest, MemberAddResponse> kMemberAdd;
extern const Method<raft::MemberId, Members> kMemberRemove;
extern const Method<MemberRequest, Members> kMemberUpdate;
extern const Method<raft::MemberId, Members> kMemberPromote;
extern const Method<bool, Members> kMemberList;  // linearizable

// ---- etcdserverpb.Maintenance ----
extern const Method<AlarmRequest, AlarmResult> kAlarm;
extern const Method<EmptyMessage, Status> kStatus;
extern const Method<EmptyMessage, EmptyMessage> kDefragment;
extern const Method<EmptyMessage, std::uint32_t> kHash;
extern const Method<std::int64_t, HashKvResponse> kHashKv;  // the revision
extern const StreamMethod kSnapshot;
extern const Method<raft::MemberId, EmptyMessage> kMoveLeader;
extern const Method<DowngradeRequest, std::string> kDowngrade;

// ---- kvorumpb.Replica: ours ----
extern const Method<EmptyMessage, EmptyMessage> kReseed;

// ---- etcdserverpb.Auth ----
extern const Method<EmptyMessage, AuthResult> kAuthEnable;
extern const Method<EmptyMessage, AuthResult> kAuthDisable;
extern const Method<EmptyMessage, AuthStatusResponse> kAuthStatus;
extern const Method<AuthenticateRequest, std::string> kAuthenticate;  // a token
extern const Method<UserPasswordRequest, AuthResult> kUserAdd;
extern const Method<std::string_view, Names> kUserGet;
extern const Method<EmptyMessage, Names> kUserList;
extern const Method<std::string_view, AuthResult> kUserDelete;
extern const Method<UserPasswordRequest, AuthResult> kUserChangePassword;
extern const Method<UserRoleRequest, AuthResult> kUserGrantRole;
extern const Method<UserRoleRequest, AuthResult> kUserRevokeRole;
extern const Method<std::string_view, AuthResult> kRoleAdd;
extern const Method<std::string_view, Permissions> kRoleGet;
extern const Method<EmptyMessage, Names> kRoleList;
extern const Method<std::string_view, AuthResult> kRoleDelete;
extern const Method<GrantPermissionRequest, AuthResult> kRoleGrantPermission;
extern const Method<RevokePermissionRequest, AuthResult> kRoleRevokePermission;

// ---- v3lockpb.Lock ----
extern const Method<LockRequest, std::string> kLock;  // the key
extern const Method<std::string_view, EmptyMessage> kUnlock;

// ---- v3electionpb.Election ----
extern const Method<CampaignRequest, Elected> kCampaign;
extern const Method<LeadershipRequest, EmptyMessage> kProclaim;
extern const Method<std::string_view, std::string> kLeader;  // the leader's key-value, encoded
extern const StreamMethod kObserve;
extern const Method<LeadershipRequest, EmptyMessage> kResign;

}  // namespace api

// The same rows without their types.
struct ApiMethod {
  std::string_view service;
  std::string_view name;
  rpc::MethodKind kind = rpc::MethodKind::kUnary;
  // Fails for bytes that are not a request of the method. Null: a stream, or a method of
  // rpc/call/health.h.
  Result<void> (*check_request)(std::string_view bytes) = nullptr;

  std::string Path() const { return std::string("/").append(service).append("/").append(name); }
};
std::span<const ApiMethod> ApiMethods();

}  // namespace kvorum::server
