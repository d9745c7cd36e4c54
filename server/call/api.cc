#include "server/call/api.h"

#include "api/entries/entry_kinds.h"
#include "auth/auth_record.h"
#include "base/api_errors.h"
#include "mvcc/records/validate.h"
#include "server/call/admission.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kKvService = "etcdserverpb.KV";
constexpr std::string_view kLeaseService = "etcdserverpb.Lease";
constexpr std::string_view kClusterService = "etcdserverpb.Cluster";
constexpr std::string_view kMaintenanceService = "etcdserverpb.Maintenance";
constexpr std::string_view kAuthService = "etcdserverpb.Auth";
constexpr std::string_view kReplicaService = "kvorumpb.Replica";
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

// A response that its encoder takes in another form.
template <auto encode, class Response>
SharedBytes EncodeAs(const ResponseHeader& header, const Response& response) {
  return encode(header, response);
}

// The store's rule for a request, if it needs no limits.
template <auto rule>
constexpr auto kRule = [](const auto& request, std::size_t) { return rule(request); };

}  // namespace

namespace api {

// Rows without field names: service, name, decode, encode, admits.

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
constinit const Method<CompactionRequest, CompactionResult> kCompact{
    kKvService, "Compact", DecodeCompaction, EncodeHeaderAlone, kRoot};

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
constinit const Method<lease::LeaseId, LeaseRevokeResult> kLeaseRevoke{
    kLeaseService, "LeaseRevoke", DecodeLeaseId, EncodeHeaderAlone, AdmitsLease};
// Each renewal is checked.
constinit const StreamMethod kLeaseKeepAlive{kLeaseService, "LeaseKeepAlive",
                                             rpc::MethodKind::kBidiStream, nullptr};
// So is the reading of the lease's keys.
constinit const Method<LeaseTimeToLiveRequest, LeaseTimeToLiveResponse> kLeaseTimeToLive{
    kLeaseService, "LeaseTimeToLive", DecodeLeaseTimeToLive,
    [](const ResponseHeader& header, const LeaseTimeToLiveResponse& response) {
      return EncodeLeaseTimeToLiveResponse(header, response.id, response.times);
    },
    kLoggedIn};
// So is the reading of all leases' keys.
constinit const Method<EmptyMessage, std::vector<lease::LeaseId>> kLeaseLeases{
    kLeaseService, "LeaseLeases", DecodeEmptyMessage, EncodeAs<EncodeLeaseLeasesResponse>,
    kLoggedIn};

// ---- etcdserverpb.Cluster ----

constinit const Method<MemberRequest, MemberAddResponse> kMemberAdd{
    .service = kClusterService,
    .name = "MemberAdd",
    .decode = DecodeMemberAddRequest,
    .encode =
        [](const ResponseHeader& header, const MemberAddResponse& response) {
          return EncodeMemberAddResponse(header, response.added, *response.members);
        },
    .admits = kRoot,
    .check = [](const MemberRequest& request,
                std::size_t) { return CheckPeerUrls(request.peer_urls); }};
constinit const Method<raft::MemberId, Members> kMemberRemove{kClusterService, "MemberRemove",
                                                              DecodeMemberId, EncodeMembers, kRoot};
constinit const Method<MemberRequest, Members> kMemberUpdate{
    kClusterService, "MemberUpdate", DecodeMemberUpdateRequest, EncodeMembers, kRoot};
constinit const Method<raft::MemberId, Members> kMemberPromote{
    kClusterService, "MemberPromote", DecodeMemberId, EncodeMembers, kRoot};
constinit const Method<bool, Members> kMemberList{
    kClusterService, "MemberList", DecodeMemberListRequest, EncodeMembers, kLoggedIn};

// ---- etcdserverpb.Maintenance ----

constinit const Method<AlarmRequest, AlarmResult> kAlarm{
    kMaintenanceService, "Alarm", DecodeAlarmRequest,
    [](const ResponseHeader& header, const AlarmResult& result) {
      return EncodeAlarmResponse(header, result.alarms);
    },
    AdmitsAlarm};
constinit const Method<EmptyMessage, Status> kStatus{
    .service = kMaintenanceService,
    .name = "Status",
    .decode = DecodeEmptyMessage,
    .encode = EncodeAs<EncodeStatusResponse>,
    .admits = kLoggedIn,
    .learner_serves = [](const EmptyMessage&) { return true; }};
constinit const Method<EmptyMessage, EmptyMessage> kDefragment{
    kMaintenanceService, "Defragment", DecodeEmptyMessage, EncodeNothing, kRoot};
constinit const Method<EmptyMessage, std::uint32_t> kHash{
    kMaintenanceService, "Hash", DecodeEmptyMessage, EncodeAs<EncodeHashResponse>, kRoot};
constinit const Method<std::int64_t, HashKvResponse> kHashKv{
    kMaintenanceService, "HashKV", DecodeHashKvRequest,
    [](const ResponseHeader& header, const HashKvResponse& response) {
      return EncodeHashKvResponse(header, response.hash, response.compact_revision,
                                  response.hash_revision);
    },
    kRoot};
constinit const StreamMethod kSnapshot{kMaintenanceService, "Snapshot",
                                       rpc::MethodKind::kServerStream, kRoot,
                                       /*learner_serves=*/true};
constinit const Method<raft::MemberId, EmptyMessage> kMoveLeader{
    kMaintenanceService, "MoveLeader", DecodeMemberId, EncodeNothing, kRoot};
constinit const Method<DowngradeRequest, std::string> kDowngrade{
    kMaintenanceService, "Downgrade", DecodeDowngradeRequest,
    [](const ResponseHeader& header, const std::string& cluster_version) {
      return EncodeDowngradeResponse(header, cluster_version);
    },
    kRoot};

// ---- kvorumpb.Replica ----

constinit const Method<EmptyMessage, EmptyMessage> kReseed{
    kReplicaService, "Reseed", DecodeEmptyMessage, EncodeNothing, kRoot};

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
    kAuthService, "AuthStatus", DecodeEmptyMessage,
    [](const ResponseHeader& header, const AuthStatusResponse& status) {
      return EncodeAuthStatusResponse(header, status.enabled, status.revision);
    },
    kAnyone};
constinit const Method<AuthenticateRequest, std::string> kAuthenticate{
    kAuthService, "Authenticate", DecodeAuthenticate, EncodeAs<EncodeAuthenticateResponse>,
    nullptr};
constinit const AuthChange<UserPasswordRequest> kUserAdd =
    ChangeByRoot("UserAdd", DecodeUserAdd, CheckNewUser);
constinit const Method<std::string_view, Names> kUserGet{kAuthService, "UserGet", DecodeName,
                                                         EncodeAs<EncodeNames>, AdmitsUserGet};
constinit const Method<EmptyMessage, Names> kUserList{kAuthService, "UserList", DecodeEmptyMessage,
                                                      EncodeAs<EncodeNames>, kRoot};
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
    kAuthService, "RoleGet", DecodeName, EncodeAs<EncodeRoleGetResponse>, AdmitsRoleGet};
constinit const Method<EmptyMessage, Names> kRoleList{kAuthService, "RoleList", DecodeEmptyMessage,
                                                      EncodeAs<EncodeNames>, kRoot};
constinit const AuthChange<std::string_view> kRoleDelete = ChangeByRoot("RoleDelete", DecodeName);
constinit const AuthChange<GrantPermissionRequest> kRoleGrantPermission =
    ChangeByRoot("RoleGrantPermission", DecodeGrantPermission);
constinit const AuthChange<RevokePermissionRequest> kRoleRevokePermission =
    ChangeByRoot("RoleRevokePermission", DecodeRevokePermission);

// ---- v3lockpb.Lock, v3electionpb.Election: keys are checked where they are read and written ----

constinit const Method<LockRequest, std::string> kLock{kLockService, "Lock", DecodeLock,
                                                       EncodeAs<EncodeLockResponse>, kLoggedIn};
constinit const Method<std::string_view, EmptyMessage> kUnlock{
    kLockService, "Unlock", DecodeOnlyBytes, EncodeHeaderAlone, kLoggedIn};
constinit const Method<CampaignRequest, Elected> kCampaign{
    kElectionService, "Campaign", DecodeCampaign,
    [](const ResponseHeader& header, const Elected& elected) {
      return EncodeCampaignResponse(header, {.name = elected.name,
                                             .key = elected.key,
                                             .created = elected.created,
                                             .lease = elected.lease});
    },
    kLoggedIn};
constinit const Method<LeadershipRequest, EmptyMessage> kProclaim{
    kElectionService, "Proclaim", DecodeProclaim, EncodeHeaderAlone, kLoggedIn};
constinit const Method<std::string_view, std::string> kLeader{
    kElectionService, "Leader", DecodeOnlyBytes, EncodeAs<EncodeLeaderResponse>, kLoggedIn};
constinit const StreamMethod kObserve{kElectionService, "Observe", rpc::MethodKind::kServerStream,
                                      kLoggedIn};
constinit const Method<LeadershipRequest, EmptyMessage> kResign{
    kElectionService, "Resign", DecodeResign, EncodeHeaderAlone, kLoggedIn};

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
