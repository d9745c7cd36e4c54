// The API: one row for every method (method.h). A method without a row cannot be served. A new one
// is a row here, and its name in `Rows` below.
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
#include "api/entries/entry_kinds.h"
#include "api/entries/request_summary.h"
#include "api/kv_decode.h"
#include "api/lease_messages.h"
#include "api/lock_messages.h"
#include "api/maintenance_encode.h"
#include "auth/permission.h"
#include "lease/lease_record.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/txn.h"
#include "mvcc/records/validate.h"
#include "server/apply/apply_result.h"
#include "server/call/admission.h"
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

// ---- how responses are encoded ----

// An answer with nothing but its header.
template <class Response>
SharedBytes EncodeHeaderAlone(const ResponseHeader& header, const Response&) {
  return EncodeHeaderOnly(header);
}
// An answer without a header too.
inline SharedBytes EncodeNothing(const ResponseHeader&, const EmptyMessage&) { return {}; }
inline SharedBytes EncodeMembers(const ResponseHeader& header, const Members& members) {
  return EncodeMembersResponse(header, *members);
}
// A response that its encoder takes in another form.
template <auto encode, class Response>
SharedBytes EncodeAs(const ResponseHeader& header, const Response& response) {
  return encode(header, response);
}

// The store's rule for a request, if it needs no limits.
template <auto rule>
constexpr auto kRule = [](const auto& request, std::size_t) { return rule(request); };
Result<void> CheckNewUser(const UserPasswordRequest& user, std::size_t);
Result<void> CheckNewRole(const std::string_view& name, std::size_t);

namespace api {

inline constexpr std::string_view kKvService = "etcdserverpb.KV";
inline constexpr std::string_view kLeaseService = "etcdserverpb.Lease";
inline constexpr std::string_view kClusterService = "etcdserverpb.Cluster";
inline constexpr std::string_view kMaintenanceService = "etcdserverpb.Maintenance";
inline constexpr std::string_view kAuthService = "etcdserverpb.Auth";
inline constexpr std::string_view kReplicaService = "kvorumpb.Replica";
inline constexpr std::string_view kLockService = "v3lockpb.Lock";
inline constexpr std::string_view kElectionService = "v3electionpb.Election";
inline constexpr std::string_view kWatchService = "etcdserverpb.Watch";

// Rows without field names: service, name, JSON routes, decode, encode, admits; of a stream:
// service, name, JSON routes, kind, admits.

// ---- etcdserverpb.KV ----

// Permissions are checked where keys are read, in the very state that is read.
inline constexpr Method<mvcc::RangeRequest, EncodedRows> kRange{
    .service = kKvService,
    .name = "Range",
    .json = {"/v3/kv/range"},
    .decode = DecodeRange,
    .encode = nullptr,
    .admits = kAnyone,
    // A learner serves only its own state.
    .learner_serves = [](const mvcc::RangeRequest& request) { return request.serializable; },
    .check = kRule<mvcc::CheckRange>,
    .slow = {.operation = "range",
             .read_prefix = "read-only range ",
             .summarize = SummarizeRange,
             .count = AnswerCount::kRows},
    .span = CallSpan::kRange};
// Each part is checked where it is read.
inline constexpr StreamMethod kRangeStream{.service = kKvService,
                                           .name = "RangeStream",
                                           .kind = rpc::MethodKind::kServerStream,
                                           .admits = kAnyone,
                                           .span = CallSpan::kRangeStream};
inline constexpr Method<mvcc::PutRequest, mvcc::PutResult> kPut{
    .service = kKvService,
    .name = "Put",
    .json = {"/v3/kv/put"},
    .decode = DecodePut,
    .encode = EncodePutResponse,
    .admits = AdmitsPut,
    .cost_bytes = EntryKind<RequestKind::kPut>::CostBytes,
    .check = kRule<mvcc::CheckPut>,
    .slow = {.operation = "put", .summarize = SummarizePut, .count = AnswerCount::kZero},
    .span = CallSpan::kPut};
inline constexpr Method<mvcc::DeleteRangeRequest, mvcc::DeleteRangeResult> kDeleteRange{
    .service = kKvService,
    .name = "DeleteRange",
    .json = {"/v3/kv/deleterange"},
    .decode = DecodeDeleteRange,
    .encode = EncodeDeleteRangeResponse,
    .admits = AdmitsDelete,
    .check = kRule<mvcc::CheckDeleteRange>,
    .slow = {.operation = "delete_range",
             .summarize = SummarizeDeleteRange,
             .count = AnswerCount::kRows},
    .span = CallSpan::kDeleteRange};
inline constexpr Method<mvcc::TxnRequest, mvcc::TxnResult> kTxn{
    .service = kKvService,
    .name = "Txn",
    .json = {"/v3/kv/txn"},
    .decode = DecodeTxn,
    .encode = EncodeTxnResponse,
    .admits = AdmitsTxn,
    .cost_bytes = EntryKind<RequestKind::kTxn>::CostBytes,
    .check = mvcc::CheckTxn,
    .slow = {.operation = "transaction",
             .read_prefix = "read-only txn ",
             .summarize = SummarizeTxn,
             .count = AnswerCount::kZero},
    .span = CallSpan::kTxn};
inline constexpr Method<CompactionRequest, CompactionResult> kCompact{
    .service = kKvService,
    .name = "Compact",
    .json = {"/v3/kv/compaction", "Compaction"},
    .decode = DecodeCompaction,
    .encode = EncodeHeaderAlone,
    .admits = kRoot,
    .slow = {.operation = "compact"},
    .span = CallSpan::kCompaction};

// ---- etcdserverpb.Watch ----

// Each watcher is checked when it is created.
inline constexpr StreamMethod kWatch{.service = kWatchService,
                                     .name = "Watch",
                                     .json = {"/v3/watch"},
                                     .kind = rpc::MethodKind::kBidiStream,
                                     .admits = nullptr,
                                     .span = CallSpan::kWatch};

// ---- etcdserverpb.Lease ----

inline constexpr Method<LeaseGrantRequest, LeaseGrantResult> kLeaseGrant{
    .service = kLeaseService,
    .name = "LeaseGrant",
    .json = {"/v3/lease/grant"},
    .decode = DecodeLeaseGrant,
    .encode =
        [](const ResponseHeader& header, const LeaseGrantResult& granted) {
          return EncodeLeaseGrantResponse(header, granted.id, granted.ttl_s);
        },
    .admits = kLoggedIn,
    .cost_bytes = EntryKind<RequestKind::kLeaseGrant>::CostBytes,
    .span = CallSpan::kLeaseGrant};
inline constexpr Method<lease::LeaseId, LeaseRevokeResult> kLeaseRevoke{
    .service = kLeaseService,
    .name = "LeaseRevoke",
    .json = {"/v3/lease/revoke /v3/kv/lease/revoke"},
    .decode = DecodeLeaseId,
    .encode = EncodeHeaderAlone,
    .admits = AdmitsLease,
    .span = CallSpan::kLeaseRevoke};
// Each renewal is checked.
inline constexpr StreamMethod kLeaseKeepAlive{.service = kLeaseService,
                                              .name = "LeaseKeepAlive",
                                              .json = {"/v3/lease/keepalive"},
                                              .kind = rpc::MethodKind::kBidiStream,
                                              .admits = nullptr,
                                              .span = CallSpan::kLeaseKeepAlive};
// So is the reading of the lease's keys.
inline constexpr Method<LeaseTimeToLiveRequest, LeaseTimeToLiveResponse> kLeaseTimeToLive{
    kLeaseService,
    "LeaseTimeToLive",
    {"/v3/lease/timetolive /v3/kv/lease/timetolive"},
    DecodeLeaseTimeToLive,
    [](const ResponseHeader& header, const LeaseTimeToLiveResponse& response) {
      return EncodeLeaseTimeToLiveResponse(header, response.id, response.times);
    },
    kLoggedIn};
// So is the reading of all leases' keys.
inline constexpr Method<EmptyMessage, std::vector<lease::LeaseId>> kLeaseLeases{
    kLeaseService,
    "LeaseLeases",
    {"/v3/lease/leases /v3/kv/lease/leases"},
    DecodeEmptyMessage,
    EncodeAs<EncodeLeaseLeasesResponse>,
    kLoggedIn};

// ---- etcdserverpb.Cluster ----

inline constexpr Method<MemberRequest, MemberAddResponse> kMemberAdd{
    .service = kClusterService,
    .name = "MemberAdd",
    .json = {"/v3/cluster/member/add"},
    .decode = DecodeMemberAddRequest,
    .encode =
        [](const ResponseHeader& header, const MemberAddResponse& response) {
          return EncodeMemberAddResponse(header, response.added, *response.members);
        },
    .admits = kRoot,
    .check = [](const MemberRequest& request,
                std::size_t) { return CheckPeerUrls(request.peer_urls); }};
inline constexpr Method<raft::MemberId, Members> kMemberRemove{
    kClusterService, "MemberRemove", {"/v3/cluster/member/remove"},
    DecodeMemberId,  EncodeMembers,  kRoot};
inline constexpr Method<MemberRequest, Members> kMemberUpdate{
    kClusterService,           "MemberUpdate", {"/v3/cluster/member/update"},
    DecodeMemberUpdateRequest, EncodeMembers,  kRoot};
inline constexpr Method<raft::MemberId, Members> kMemberPromote{
    kClusterService, "MemberPromote", {"/v3/cluster/member/promote"},
    DecodeMemberId,  EncodeMembers,   kRoot};
// The request: linearizable.
inline constexpr Method<bool, Members> kMemberList{
    kClusterService,         "MemberList",  {"/v3/cluster/member/list"},
    DecodeMemberListRequest, EncodeMembers, kLoggedIn};

// ---- etcdserverpb.Maintenance ----

inline constexpr Method<AlarmRequest, AlarmResult> kAlarm{
    .service = kMaintenanceService,
    .name = "Alarm",
    .json = {"/v3/maintenance/alarm"},
    .decode = DecodeAlarmRequest,
    .encode = [](const ResponseHeader& header,
                 const AlarmResult& result) { return EncodeAlarmResponse(header, result.alarms); },
    .admits = AdmitsAlarm,
    .span = CallSpan::kProposal};
inline constexpr Method<EmptyMessage, Status> kStatus{
    .service = kMaintenanceService,
    .name = "Status",
    .json = {"/v3/maintenance/status"},
    .decode = DecodeEmptyMessage,
    .encode = EncodeAs<EncodeStatusResponse>,
    .admits = kLoggedIn,
    .learner_serves = [](const EmptyMessage&) { return true; }};
inline constexpr Method<EmptyMessage, EmptyMessage> kDefragment{
    kMaintenanceService, "Defragment",  {"/v3/maintenance/defragment"},
    DecodeEmptyMessage,  EncodeNothing, kRoot};
inline constexpr Method<EmptyMessage, std::uint32_t> kHash{
    kMaintenanceService,          "Hash", {"/v3/maintenance/hash"}, DecodeEmptyMessage,
    EncodeAs<EncodeHashResponse>, kRoot};
// The request: the revision.
inline constexpr Method<std::int64_t, HashKvResponse> kHashKv{
    kMaintenanceService,
    "HashKV",
    {"/v3/maintenance/hashkv"},
    DecodeHashKvRequest,
    [](const ResponseHeader& header, const HashKvResponse& response) {
      return EncodeHashKvResponse(header, response.hash, response.compact_revision,
                                  response.hash_revision);
    },
    kRoot};
inline constexpr StreamMethod kSnapshot{kMaintenanceService,
                                        "Snapshot",
                                        {"/v3/maintenance/snapshot"},
                                        rpc::MethodKind::kServerStream,
                                        kRoot,
                                        /*learner_serves=*/true};
inline constexpr Method<raft::MemberId, EmptyMessage> kMoveLeader{
    kMaintenanceService, "MoveLeader",  {"/v3/maintenance/transfer-leadership"},
    DecodeMemberId,      EncodeNothing, kRoot};
inline constexpr Method<DowngradeRequest, std::string> kDowngrade{
    kMaintenanceService,
    "Downgrade",
    {"/v3/maintenance/downgrade"},
    DecodeDowngradeRequest,
    [](const ResponseHeader& header, const std::string& cluster_version) {
      return EncodeDowngradeResponse(header, cluster_version);
    },
    kRoot};

// ---- kvorumpb.Replica ----

inline constexpr Method<EmptyMessage, EmptyMessage> kReseed{
    kReplicaService, "Reseed", {}, DecodeEmptyMessage, EncodeNothing, kRoot};

// ---- etcdserverpb.Auth ----

template <class Request>
using AuthChange = Method<Request, AuthResult>;

template <class Request>
constexpr AuthChange<Request> ChangeByRoot(std::string_view name, const JsonRoutes& json,
                                           Result<Request> (*decode)(std::string_view bytes),
                                           Result<void> (*check)(const Request& request,
                                                                 std::size_t) = nullptr) {
  return {.service = kAuthService,
          .name = name,
          .json = json,
          .decode = decode,
          .encode = EncodeHeaderAlone,
          .admits = kRoot,
          .check = check,
          .span = CallSpan::kProposal};
}

inline constexpr AuthChange<EmptyMessage> kAuthEnable =
    ChangeByRoot("AuthEnable", {"/v3/auth/enable"}, DecodeEmptyMessage);
inline constexpr AuthChange<EmptyMessage> kAuthDisable =
    ChangeByRoot("AuthDisable", {"/v3/auth/disable"}, DecodeEmptyMessage);
inline constexpr Method<EmptyMessage, AuthStatusResponse> kAuthStatus{
    kAuthService,
    "AuthStatus",
    {"/v3/auth/status"},
    DecodeEmptyMessage,
    [](const ResponseHeader& header, const AuthStatusResponse& status) {
      return EncodeAuthStatusResponse(header, status.enabled, status.revision);
    },
    kAnyone};
// The response: a token.
inline constexpr Method<AuthenticateRequest, std::string> kAuthenticate{
    .service = kAuthService,
    .name = "Authenticate",
    .json = {"/v3/auth/authenticate"},
    .decode = DecodeAuthenticate,
    .encode = EncodeAs<EncodeAuthenticateResponse>,
    .admits = nullptr,
    .span = CallSpan::kProposal};
inline constexpr AuthChange<UserPasswordRequest> kUserAdd =
    ChangeByRoot("UserAdd", {"/v3/auth/user/add", "AuthUserAdd"}, DecodeUserAdd, CheckNewUser);
inline constexpr Method<std::string_view, Names> kUserGet{
    kAuthService,          "UserGet",    {"/v3/auth/user/get", "AuthUserGet"}, DecodeName,
    EncodeAs<EncodeNames>, AdmitsUserGet};
inline constexpr Method<EmptyMessage, Names> kUserList{
    kAuthService,          "UserList", {"/v3/auth/user/list", "AuthUserList"}, DecodeEmptyMessage,
    EncodeAs<EncodeNames>, kRoot};
inline constexpr AuthChange<std::string_view> kUserDelete =
    ChangeByRoot("UserDelete", {"/v3/auth/user/delete", "AuthUserDelete"}, DecodeName);
inline constexpr AuthChange<UserPasswordRequest> kUserChangePassword =
    ChangeByRoot("UserChangePassword", {"/v3/auth/user/changepw", "AuthUserChangePassword"},
                 DecodeChangePassword);
inline constexpr AuthChange<UserRoleRequest> kUserGrantRole =
    ChangeByRoot("UserGrantRole", {"/v3/auth/user/grant", "AuthUserGrantRole"}, DecodeUserRole);
inline constexpr AuthChange<UserRoleRequest> kUserRevokeRole =
    ChangeByRoot("UserRevokeRole", {"/v3/auth/user/revoke", "AuthUserRevokeRole"}, DecodeUserRole);
inline constexpr AuthChange<std::string_view> kRoleAdd =
    ChangeByRoot("RoleAdd", {"/v3/auth/role/add", "AuthRoleAdd"}, DecodeName, CheckNewRole);
inline constexpr Method<std::string_view, Permissions> kRoleGet{
    kAuthService,
    "RoleGet",
    {"/v3/auth/role/get", "AuthRoleGet"},
    DecodeName,
    EncodeAs<EncodeRoleGetResponse>,
    AdmitsRoleGet};
inline constexpr Method<EmptyMessage, Names> kRoleList{
    kAuthService,          "RoleList", {"/v3/auth/role/list", "AuthRoleList"}, DecodeEmptyMessage,
    EncodeAs<EncodeNames>, kRoot};
inline constexpr AuthChange<std::string_view> kRoleDelete =
    ChangeByRoot("RoleDelete", {"/v3/auth/role/delete", "AuthRoleDelete"}, DecodeName);
inline constexpr AuthChange<GrantPermissionRequest> kRoleGrantPermission =
    ChangeByRoot("RoleGrantPermission", {"/v3/auth/role/grant", "AuthRoleGrantPermission"},
                 DecodeGrantPermission);
inline constexpr AuthChange<RevokePermissionRequest> kRoleRevokePermission =
    ChangeByRoot("RoleRevokePermission", {"/v3/auth/role/revoke", "AuthRoleRevokePermission"},
                 DecodeRevokePermission);

// ---- v3lockpb.Lock, v3electionpb.Election: keys are checked where they are read and written ----

// The response: the key.
inline constexpr Method<LockRequest, std::string> kLock{
    kLockService, "Lock", {"/v3/lock/lock"}, DecodeLock, EncodeAs<EncodeLockResponse>, kLoggedIn};
inline constexpr Method<std::string_view, EmptyMessage> kUnlock{
    kLockService, "Unlock", {"/v3/lock/unlock"}, DecodeOnlyBytes, EncodeHeaderAlone, kLoggedIn};
inline constexpr Method<CampaignRequest, Elected> kCampaign{
    kElectionService,
    "Campaign",
    {"/v3/election/campaign"},
    DecodeCampaign,
    [](const ResponseHeader& header, const Elected& elected) {
      return EncodeCampaignResponse(header, {.name = elected.name,
                                             .key = elected.key,
                                             .created = elected.created,
                                             .lease = elected.lease});
    },
    kLoggedIn};
inline constexpr Method<LeadershipRequest, EmptyMessage> kProclaim{
    kElectionService, "Proclaim",        {"/v3/election/proclaim"},
    DecodeProclaim,   EncodeHeaderAlone, kLoggedIn};
// The response: the leader's key-value, encoded.
inline constexpr Method<std::string_view, std::string> kLeader{kElectionService,
                                                               "Leader",
                                                               {"/v3/election/leader"},
                                                               DecodeOnlyBytes,
                                                               EncodeAs<EncodeLeaderResponse>,
                                                               kLoggedIn};
inline constexpr StreamMethod kObserve{kElectionService,
                                       "Observe",
                                       {"/v3/election/observe", "Leader"},
                                       rpc::MethodKind::kServerStream,
                                       kLoggedIn};
inline constexpr Method<LeadershipRequest, EmptyMessage> kResign{
    kElectionService, "Resign",          {"/v3/election/resign"},
    DecodeResign,     EncodeHeaderAlone, kLoggedIn};

// In the order in which inputs of fuzzers name them by number: a new one stands last.
template <const auto&... rows>
struct RowList {};
using Rows = RowList<kRange, kRangeStream, kPut, kDeleteRange, kTxn, kCompact, kWatch, kLeaseGrant,
                     kLeaseRevoke, kLeaseKeepAlive, kLeaseTimeToLive, kLeaseLeases, kMemberAdd,
                     kMemberRemove, kMemberUpdate, kMemberPromote, kMemberList, kAlarm, kStatus,
                     kDefragment, kHash, kHashKv, kSnapshot, kMoveLeader, kDowngrade, kAuthEnable,
                     kAuthDisable, kAuthStatus, kAuthenticate, kUserAdd, kUserGet, kUserList,
                     kUserDelete, kUserChangePassword, kUserGrantRole, kUserRevokeRole, kRoleAdd,
                     kRoleGet, kRoleList, kRoleDelete, kRoleGrantPermission, kRoleRevokePermission,
                     kLock, kUnlock, kCampaign, kProclaim, kLeader, kObserve, kResign>;

}  // namespace api

// The same rows without their types.
struct ApiMethod {
  std::string_view service;
  std::string_view name;
  JsonRoutes json = {};
  rpc::MethodKind kind = rpc::MethodKind::kUnary;
  SlowLine slow = {};
  CallSpan span = CallSpan::kPlain;
  // Fails for bytes that are not a request of the method. Null: a stream, or a method of
  // rpc/call/health.h.
  Result<void> (*check_request)(std::string_view bytes) = nullptr;

  std::string Path() const { return std::string("/").append(service).append("/").append(name); }
};
std::span<const ApiMethod> ApiMethods();
// Null for a method that has no row. By path: "/etcdserverpb.KV/Range".
const ApiMethod* FindApiMethod(std::string_view path);
// kPlain for a method that has no row.
CallSpan SpanOf(std::string_view path);

}  // namespace kvorum::server
