#include "server/call/api.h"

#include "auth/auth_record.h"
#include "base/api_errors.h"
#include "mvcc/validate.h"
#include "server/call/admission.h"
#include "server/messages/entry_kinds.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kKvService = "etcdserverpb.KV";
constexpr std::string_view kLeaseService = "etcdserverpb.Lease";
constexpr std::string_view kClusterService = "etcdserverpb.Cluster";
constexpr std::string_view kMaintenanceService = "etcdserverpb.Maintenance";
constexpr std::string_view kAuthService = "etcdserverpb.Auth";
constexpr std::string_view kLockService = "v3lockpb.Lock";
constexpr std::string_view kElectionService = "v3electionpb.Election";
constexpr std::string_view kHealthService = "grpc.health.v1.Health";

// An answer with nothing but its header.
template <class Response>
SharedBytes EncodeHeaderAlone(const ResponseHeader& header, const Response&) {
  return EncodeHeaderOnly(header);
}

// An answer without a header too.
SharedBytes EncodeNothing(const ResponseHeader&, const EmptyMessage&) { return {}; }

SharedBytes EncodeMembers(const ResponseHeader& header, const Members& members) {
  return EncodeMembersResponse(header, *members);
}

SharedBytes EncodeNameList(const ResponseHeader& header, const Names& names) {
  return EncodeNames(header, names);
}

// The store's rule for a request, if it needs no limits.
template <auto rule>
constexpr auto kRule = [](const auto& request, std::size_t) { return rule(request); };

}  // namespace

namespace api {

// ---- etcdserverpb.KV ----

// Permissions are checked where keys are read, in the very state that is read.
constinit const Method<mvcc::RangeRequest, EncodedRows> kRange{
    .service = kKvService,
    .name = "Range",
    .decode = DecodeRange,
    .encode = nullptr,
    .admits = kAnyone,
    // A learner serves only its own state.
    .learner_serves = [](const mvcc::RangeRequest& request) { return request.serializable; },
    .check = kRule<mvcc::CheckRange>};
// Each part is checked where it is read.
constinit const StreamMethod kRangeStream{kKvService, "RangeStream", rpc::MethodKind::kServerStream,
                                          kAnyone};
constinit const Method<mvcc::PutRequest, mvcc::PutResult> kPut{
    .service = kKvService,
    .name = "Put",
    .decode = DecodePut,
    .encode = EncodePutResponse,
    .admits = AdmitsPut,
    .cost_bytes = EntryKind<RequestKind::kPut>::CostBytes,
    .check = kRule<mvcc::CheckPut>};
constinit const Method<mvcc::DeleteRangeRequest, mvcc::DeleteRangeResult> kDeleteRange{
    .service = kKvService,
    .name = "DeleteRange",
    .decode = DecodeDeleteRange,
    .encode = EncodeDeleteRangeResponse,
    .admits = AdmitsDelete,
    .check = kRule<mvcc::CheckDeleteRange>};
constinit const Method<mvcc::TxnRequest, mvcc::TxnResult> kTxn{
    .service = kKvService,
    .name = "Txn",
    .decode = DecodeTxn,
    .encode = EncodeTxnResponse,
    .admits = AdmitsTxn,
    .cost_bytes = EntryKind<RequestKind::kTxn>::CostBytes,
    .check = mvcc::CheckTxn};
constinit const Method<CompactionRequest, CompactionResult> kCompact{.service = kKvService,
                                                                     .name = "Compact",
                                                                     .decode = DecodeCompaction,
                                                                     .encode = EncodeHeaderAlone,
                                                                     .admits = kRoot};

// ---- etcdserverpb.Watch ----

// Each watcher is checked when it is created.
constinit const StreamMethod kWatch{"etcdserverpb.Watch", "Watch", rpc::MethodKind::kBidiStream,
                                    nullptr};

// ---- etcdserverpb.Lease ----

constinit const Method<LeaseGrantRequest, LeaseGrantResult> kLeaseGrant{
    .service = kLeaseService,
    .name = "LeaseGrant",
    .decode = DecodeLeaseGrant,
    .encode =
        [](const ResponseHeader& header, const LeaseGrantResult& granted) {
          return EncodeLeaseGrantResponse(header, granted.id, granted.ttl_s);
        },
    .admits = kLoggedIn,
    .cost_bytes = EntryKind<RequestKind::kLeaseGrant>::CostBytes};
constinit const Method<lease::LeaseId, LeaseRevokeResult> kLeaseRevoke{.service = kLeaseService,
                                                                       .name = "LeaseRevoke",
                                                                       .decode = DecodeLeaseId,
                                                                       .encode = EncodeHeaderAlone,
                                                                       .admits = AdmitsLease};
// Each renewal is checked.
constinit const StreamMethod kLeaseKeepAlive{kLeaseService, "LeaseKeepAlive",
                                             rpc::MethodKind::kBidiStream, nullptr};
// So is the reading of the lease's keys.
constinit const Method<LeaseTimeToLiveRequest, LeaseTimeToLiveResponse> kLeaseTimeToLive{
    .service = kLeaseService,
    .name = "LeaseTimeToLive",
    .decode = DecodeLeaseTimeToLive,
    .encode =
        [](const ResponseHeader& header, const LeaseTimeToLiveResponse& response) {
          return EncodeLeaseTimeToLiveResponse(header, response.id, response.times);
        },
    .admits = kLoggedIn};
// So is the reading of all leases' keys.
constinit const Method<EmptyMessage, std::vector<lease::LeaseId>> kLeaseLeases{
    .service = kLeaseService,
    .name = "LeaseLeases",
    .decode = DecodeEmptyMessage,
    .encode =
        [](const ResponseHeader& header, const std::vector<lease::LeaseId>& ids) {
          return EncodeLeaseLeasesResponse(header, ids);
        },
    .admits = kLoggedIn};

// ---- etcdserverpb.Cluster ----

constinit const Method<MemberRequest, MemberAddResponse> kMemberAdd{
    .service = kClusterService,
    .name = "MemberAdd",
    .decode = DecodeMemberAddRequest,
    .encode =
        [](const ResponseHeader& header, const MemberAddResponse& response) {
          return EncodeMemberAddResponse(header, response.added, *response.members);
        },
    .admits = kRoot};
constinit const Method<raft::MemberId, Members> kMemberRemove{.service = kClusterService,
                                                              .name = "MemberRemove",
                                                              .decode = DecodeMemberId,
                                                              .encode = EncodeMembers,
                                                              .admits = kRoot};
constinit const Method<MemberRequest, Members> kMemberUpdate{.service = kClusterService,
                                                             .name = "MemberUpdate",
                                                             .decode = DecodeMemberUpdateRequest,
                                                             .encode = EncodeMembers,
                                                             .admits = kRoot};
constinit const Method<raft::MemberId, Members> kMemberPromote{.service = kClusterService,
                                                               .name = "MemberPromote",
                                                               .decode = DecodeMemberId,
                                                               .encode = EncodeMembers,
                                                               .admits = kRoot};
constinit const Method<bool, Members> kMemberList{.service = kClusterService,
                                                  .name = "MemberList",
                                                  .decode = DecodeMemberListRequest,
                                                  .encode = EncodeMembers,
                                                  .admits = kLoggedIn};

// ---- etcdserverpb.Maintenance ----

constinit const Method<AlarmRequest, AlarmResult> kAlarm{
    .service = kMaintenanceService,
    .name = "Alarm",
    .decode = DecodeAlarmRequest,
    .encode = [](const ResponseHeader& header,
                 const AlarmResult& result) { return EncodeAlarmResponse(header, result.alarms); },
    .admits = AdmitsAlarm};
constinit const Method<EmptyMessage, Status> kStatus{
    .service = kMaintenanceService,
    .name = "Status",
    .decode = DecodeEmptyMessage,
    .encode = [](const ResponseHeader& header,
                 const Status& status) { return EncodeStatusResponse(header, status); },
    .admits = kLoggedIn,
    .learner_serves = [](const EmptyMessage&) { return true; }};
constinit const Method<EmptyMessage, EmptyMessage> kDefragment{.service = kMaintenanceService,
                                                               .name = "Defragment",
                                                               .decode = DecodeEmptyMessage,
                                                               .encode = EncodeNothing,
                                                               .admits = kRoot};
constinit const Method<EmptyMessage, std::uint32_t> kHash{
    .service = kMaintenanceService,
    .name = "Hash",
    .decode = DecodeEmptyMessage,
    .encode = [](const ResponseHeader& header,
                 const std::uint32_t& hash) { return EncodeHashResponse(header, hash); },
    .admits = kRoot};
constinit const Method<std::int64_t, HashKvResponse> kHashKv{
    .service = kMaintenanceService,
    .name = "HashKV",
    .decode = DecodeHashKvRequest,
    .encode =
        [](const ResponseHeader& header, const HashKvResponse& response) {
          return EncodeHashKvResponse(header, response.hash, response.compact_revision,
                                      response.hash_revision);
        },
    .admits = kRoot};
constinit const StreamMethod kSnapshot{kMaintenanceService, "Snapshot",
                                       rpc::MethodKind::kServerStream, kRoot};
constinit const Method<raft::MemberId, EmptyMessage> kMoveLeader{.service = kMaintenanceService,
                                                                 .name = "MoveLeader",
                                                                 .decode = DecodeMoveLeaderRequest,
                                                                 .encode = EncodeNothing,
                                                                 .admits = kRoot};
// Not served: its fields are not used.
constinit const Method<EmptyMessage, EmptyMessage> kDowngrade{.service = kMaintenanceService,
                                                              .name = "Downgrade",
                                                              .decode = DecodeEmptyMessage,
                                                              .encode = EncodeNothing,
                                                              .admits = kRoot};

// ---- etcdserverpb.Auth ----

namespace {

template <class Request>
using AuthChange = Method<Request, AuthResult>;

template <class Request>
constexpr AuthChange<Request> ChangeByRoot(std::string_view name,
                                           Result<Request> (*decode)(std::string_view bytes),
                                           Result<void> (*check)(const Request& request,
                                                                 std::size_t) = nullptr) {
  return {.service = kAuthService,
          .name = name,
          .decode = decode,
          .encode = EncodeHeaderAlone,
          .admits = kRoot,
          .check = check};
}

Result<void> CheckName(std::string_view name) {
  if (name.size() > auth::kMaxNameSizeBytes) return kErrNameTooLong.Fail();
  return {};
}
Result<void> CheckNewUser(const UserPasswordRequest& user, std::size_t) {
  return CheckName(user.name);
}
Result<void> CheckNewRole(const std::string_view& name, std::size_t) { return CheckName(name); }

}  // namespace

constinit const AuthChange<EmptyMessage> kAuthEnable =
    ChangeByRoot("AuthEnable", DecodeEmptyMessage);
constinit const AuthChange<EmptyMessage> kAuthDisable =
    ChangeByRoot("AuthDisable", DecodeEmptyMessage);
constinit const Method<EmptyMessage, AuthStatusResponse> kAuthStatus{
    .service = kAuthService,
    .name = "AuthStatus",
    .decode = DecodeEmptyMessage,
    .encode =
        [](const ResponseHeader& header, const AuthStatusResponse& status) {
          return EncodeAuthStatusResponse(header, status.enabled, status.revision);
        },
    .admits = kAnyone};
constinit const Method<AuthenticateRequest, std::string> kAuthenticate{
    .service = kAuthService,
    .name = "Authenticate",
    .decode = DecodeAuthenticate,
    .encode = [](const ResponseHeader& header,
                 const std::string& token) { return EncodeAuthenticateResponse(header, token); },
    .admits = nullptr};
constinit const AuthChange<UserPasswordRequest> kUserAdd =
    ChangeByRoot("UserAdd", DecodeUserAdd, CheckNewUser);
constinit const Method<std::string_view, Names> kUserGet{.service = kAuthService,
                                                         .name = "UserGet",
                                                         .decode = DecodeName,
                                                         .encode = EncodeNameList,
                                                         .admits = AdmitsUserGet};
constinit const Method<EmptyMessage, Names> kUserList{.service = kAuthService,
                                                      .name = "UserList",
                                                      .decode = DecodeEmptyMessage,
                                                      .encode = EncodeNameList,
                                                      .admits = kRoot};
constinit const AuthChange<std::string_view> kUserDelete = ChangeByRoot("UserDelete", DecodeName);
constinit const AuthChange<UserPasswordRequest> kUserChangePassword =
    ChangeByRoot("UserChangePassword", DecodeChangePassword);
constinit const AuthChange<UserRoleRequest> kUserGrantRole =
    ChangeByRoot("UserGrantRole", DecodeUserRole);
constinit const AuthChange<UserRoleRequest> kUserRevokeRole =
    ChangeByRoot("UserRevokeRole", DecodeUserRole);
constinit const AuthChange<std::string_view> kRoleAdd =
    ChangeByRoot("RoleAdd", DecodeName, CheckNewRole);
constinit const Method<std::string_view, Permissions> kRoleGet{
    .service = kAuthService,
    .name = "RoleGet",
    .decode = DecodeName,
    .encode = [](const ResponseHeader& header,
                 const Permissions& shown) { return EncodeRoleGetResponse(header, shown); },
    .admits = AdmitsRoleGet};
constinit const Method<EmptyMessage, Names> kRoleList{.service = kAuthService,
                                                      .name = "RoleList",
                                                      .decode = DecodeEmptyMessage,
                                                      .encode = EncodeNameList,
                                                      .admits = kRoot};
constinit const AuthChange<std::string_view> kRoleDelete = ChangeByRoot("RoleDelete", DecodeName);
constinit const AuthChange<GrantPermissionRequest> kRoleGrantPermission =
    ChangeByRoot("RoleGrantPermission", DecodeGrantPermission);
constinit const AuthChange<RevokePermissionRequest> kRoleRevokePermission =
    ChangeByRoot("RoleRevokePermission", DecodeRevokePermission);

// ---- v3lockpb.Lock, v3electionpb.Election: keys are checked where they are read and written ----

constinit const Method<LockRequest, std::string> kLock{
    .service = kLockService,
    .name = "Lock",
    .decode = DecodeLock,
    .encode = [](const ResponseHeader& header,
                 const std::string& key) { return EncodeLockResponse(header, key); },
    .admits = kLoggedIn};
constinit const Method<std::string_view, EmptyMessage> kUnlock{.service = kLockService,
                                                               .name = "Unlock",
                                                               .decode = DecodeOnlyBytes,
                                                               .encode = EncodeHeaderAlone,
                                                               .admits = kLoggedIn};
constinit const Method<CampaignRequest, Elected> kCampaign{
    .service = kElectionService,
    .name = "Campaign",
    .decode = DecodeCampaign,
    .encode =
        [](const ResponseHeader& header, const Elected& elected) {
          return EncodeCampaignResponse(header, {.name = elected.name,
                                                 .key = elected.key,
                                                 .created = elected.created,
                                                 .lease = elected.lease});
        },
    .admits = kLoggedIn};
constinit const Method<LeadershipRequest, EmptyMessage> kProclaim{.service = kElectionService,
                                                                  .name = "Proclaim",
                                                                  .decode = DecodeProclaim,
                                                                  .encode = EncodeHeaderAlone,
                                                                  .admits = kLoggedIn};
constinit const Method<std::string_view, std::string> kLeader{
    .service = kElectionService,
    .name = "Leader",
    .decode = DecodeOnlyBytes,
    .encode = [](const ResponseHeader& header,
                 const std::string& kv) { return EncodeLeaderResponse(header, kv); },
    .admits = kLoggedIn};
constinit const StreamMethod kObserve{kElectionService, "Observe", rpc::MethodKind::kServerStream,
                                      kLoggedIn};
constinit const Method<LeadershipRequest, EmptyMessage> kResign{.service = kElectionService,
                                                                .name = "Resign",
                                                                .decode = DecodeResign,
                                                                .encode = EncodeHeaderAlone,
                                                                .admits = kLoggedIn};

}  // namespace api

namespace {

template <const auto& method>
Result<void> CheckRequest(std::string_view bytes) {
  const auto request = method.decode(bytes);
  if (!request.has_value()) return std::unexpected(request.error());
  return {};
}

template <const auto& method>
ApiMethod Unary() {
  return {.service = method.service, .name = method.name, .check_request = CheckRequest<method>};
}

ApiMethod Stream(const StreamMethod& method) {
  return {.service = method.service, .name = method.name, .kind = method.kind};
}

}  // namespace

std::span<const ApiMethod> ApiMethods() {
  static const ApiMethod methods[] = {
      Unary<api::kRange>(),
      Stream(api::kRangeStream),
      Unary<api::kPut>(),
      Unary<api::kDeleteRange>(),
      Unary<api::kTxn>(),
      Unary<api::kCompact>(),
      Stream(api::kWatch),
      Unary<api::kLeaseGrant>(),
      Unary<api::kLeaseRevoke>(),
      Stream(api::kLeaseKeepAlive),
      Unary<api::kLeaseTimeToLive>(),
      Unary<api::kLeaseLeases>(),
      Unary<api::kMemberAdd>(),
      Unary<api::kMemberRemove>(),
      Unary<api::kMemberUpdate>(),
      Unary<api::kMemberPromote>(),
      Unary<api::kMemberList>(),
      Unary<api::kAlarm>(),
      Unary<api::kStatus>(),
      Unary<api::kDefragment>(),
      Unary<api::kHash>(),
      Unary<api::kHashKv>(),
      Stream(api::kSnapshot),
      Unary<api::kMoveLeader>(),
      Unary<api::kDowngrade>(),
      Unary<api::kAuthEnable>(),
      Unary<api::kAuthDisable>(),
      Unary<api::kAuthStatus>(),
      Unary<api::kAuthenticate>(),
      Unary<api::kUserAdd>(),
      Unary<api::kUserGet>(),
      Unary<api::kUserList>(),
      Unary<api::kUserDelete>(),
      Unary<api::kUserChangePassword>(),
      Unary<api::kUserGrantRole>(),
      Unary<api::kUserRevokeRole>(),
      Unary<api::kRoleAdd>(),
      Unary<api::kRoleGet>(),
      Unary<api::kRoleList>(),
      Unary<api::kRoleDelete>(),
      Unary<api::kRoleGrantPermission>(),
      Unary<api::kRoleRevokePermission>(),
      Unary<api::kLock>(),
      Unary<api::kUnlock>(),
      Unary<api::kCampaign>(),
      Unary<api::kProclaim>(),
      Unary<api::kLeader>(),
      Stream(api::kObserve),
      Unary<api::kResign>(),
      {.service = kHealthService, .name = "Check"},
      {.service = kHealthService, .name = "List"},
      {.service = kHealthService, .name = "Watch", .kind = rpc::MethodKind::kServerStream},
  };
  return methods;
}

}  // namespace kvorum::server
