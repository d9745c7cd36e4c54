#include "server/gateway/routes.h"

#include <algorithm>

#include "server/gateway/message_shapes.h"

namespace kvorum::server::gateway {
namespace {

constexpr Route kRoutes[] = {
    {"/v3/kv/range", "/etcdserverpb.KV/Range", &kRangeRequest, &kRangeResponse},
    {"/v3/kv/put", "/etcdserverpb.KV/Put", &kPutRequest, &kPutResponse},
    {"/v3/kv/deleterange", "/etcdserverpb.KV/DeleteRange", &kDeleteRangeRequest,
     &kDeleteRangeResponse},
    {"/v3/kv/txn", "/etcdserverpb.KV/Txn", &kTxnRequest, &kTxnResponse},
    {"/v3/kv/compaction", "/etcdserverpb.KV/Compact", &kCompactionRequest, &kCompactionResponse},
    {"/v3/watch", "/etcdserverpb.Watch/Watch", &kWatchRequest, &kWatchResponse,
     /*reads_open_body=*/true},
    {"/v3/lease/grant", "/etcdserverpb.Lease/LeaseGrant", &kLeaseGrantRequest,
     &kLeaseGrantResponse},
    {"/v3/lease/revoke", "/etcdserverpb.Lease/LeaseRevoke", &kLeaseRevokeRequest,
     &kLeaseRevokeResponse},
    {"/v3/kv/lease/revoke", "/etcdserverpb.Lease/LeaseRevoke", &kLeaseRevokeRequest,
     &kLeaseRevokeResponse},
    {"/v3/lease/keepalive", "/etcdserverpb.Lease/LeaseKeepAlive", &kLeaseKeepAliveRequest,
     &kLeaseKeepAliveResponse, /*reads_open_body=*/true},
    {"/v3/lease/timetolive", "/etcdserverpb.Lease/LeaseTimeToLive", &kLeaseTimeToLiveRequest,
     &kLeaseTimeToLiveResponse},
    {"/v3/kv/lease/timetolive", "/etcdserverpb.Lease/LeaseTimeToLive", &kLeaseTimeToLiveRequest,
     &kLeaseTimeToLiveResponse},
    {"/v3/lease/leases", "/etcdserverpb.Lease/LeaseLeases", &kLeaseLeasesRequest,
     &kLeaseLeasesResponse},
    {"/v3/kv/lease/leases", "/etcdserverpb.Lease/LeaseLeases", &kLeaseLeasesRequest,
     &kLeaseLeasesResponse},
    {"/v3/cluster/member/add", "/etcdserverpb.Cluster/MemberAdd", &kMemberAddRequest,
     &kMemberAddResponse},
    {"/v3/cluster/member/remove", "/etcdserverpb.Cluster/MemberRemove", &kMemberRemoveRequest,
     &kMemberRemoveResponse},
    {"/v3/cluster/member/update", "/etcdserverpb.Cluster/MemberUpdate", &kMemberUpdateRequest,
     &kMemberUpdateResponse},
    {"/v3/cluster/member/list", "/etcdserverpb.Cluster/MemberList", &kMemberListRequest,
     &kMemberListResponse},
    {"/v3/cluster/member/promote", "/etcdserverpb.Cluster/MemberPromote", &kMemberPromoteRequest,
     &kMemberPromoteResponse},
    {"/v3/maintenance/alarm", "/etcdserverpb.Maintenance/Alarm", &kAlarmRequest, &kAlarmResponse},
    {"/v3/maintenance/status", "/etcdserverpb.Maintenance/Status", &kStatusRequest,
     &kStatusResponse},
    {"/v3/maintenance/defragment", "/etcdserverpb.Maintenance/Defragment", &kDefragmentRequest,
     &kDefragmentResponse},
    {"/v3/maintenance/hash", "/etcdserverpb.Maintenance/Hash", &kHashRequest, &kHashResponse},
    {"/v3/maintenance/hashkv", "/etcdserverpb.Maintenance/HashKV", &kHashKVRequest,
     &kHashKVResponse},
    {"/v3/maintenance/snapshot", "/etcdserverpb.Maintenance/Snapshot", &kSnapshotRequest,
     &kSnapshotResponse},
    {"/v3/maintenance/transfer-leadership", "/etcdserverpb.Maintenance/MoveLeader",
     &kMoveLeaderRequest, &kMoveLeaderResponse},
    {"/v3/maintenance/downgrade", "/etcdserverpb.Maintenance/Downgrade", &kDowngradeRequest,
     &kDowngradeResponse},
    {"/v3/auth/enable", "/etcdserverpb.Auth/AuthEnable", &kAuthEnableRequest, &kAuthEnableResponse},
    {"/v3/auth/disable", "/etcdserverpb.Auth/AuthDisable", &kAuthDisableRequest,
     &kAuthDisableResponse},
    {"/v3/auth/status", "/etcdserverpb.Auth/AuthStatus", &kAuthStatusRequest, &kAuthStatusResponse},
    {"/v3/auth/authenticate", "/etcdserverpb.Auth/Authenticate", &kAuthenticateRequest,
     &kAuthenticateResponse},
    {"/v3/auth/user/add", "/etcdserverpb.Auth/UserAdd", &kAuthUserAddRequest,
     &kAuthUserAddResponse},
    {"/v3/auth/user/get", "/etcdserverpb.Auth/UserGet", &kAuthUserGetRequest,
     &kAuthUserGetResponse},
    {"/v3/auth/user/list", "/etcdserverpb.Auth/UserList", &kAuthUserListRequest,
     &kAuthUserListResponse},
    {"/v3/auth/user/delete", "/etcdserverpb.Auth/UserDelete", &kAuthUserDeleteRequest,
     &kAuthUserDeleteResponse},
    {"/v3/auth/user/changepw", "/etcdserverpb.Auth/UserChangePassword",
     &kAuthUserChangePasswordRequest, &kAuthUserChangePasswordResponse},
    {"/v3/auth/user/grant", "/etcdserverpb.Auth/UserGrantRole", &kAuthUserGrantRoleRequest,
     &kAuthUserGrantRoleResponse},
    {"/v3/auth/user/revoke", "/etcdserverpb.Auth/UserRevokeRole", &kAuthUserRevokeRoleRequest,
     &kAuthUserRevokeRoleResponse},
    {"/v3/auth/role/add", "/etcdserverpb.Auth/RoleAdd", &kAuthRoleAddRequest,
     &kAuthRoleAddResponse},
    {"/v3/auth/role/get", "/etcdserverpb.Auth/RoleGet", &kAuthRoleGetRequest,
     &kAuthRoleGetResponse},
    {"/v3/auth/role/list", "/etcdserverpb.Auth/RoleList", &kAuthRoleListRequest,
     &kAuthRoleListResponse},
    {"/v3/auth/role/delete", "/etcdserverpb.Auth/RoleDelete", &kAuthRoleDeleteRequest,
     &kAuthRoleDeleteResponse},
    {"/v3/auth/role/grant", "/etcdserverpb.Auth/RoleGrantPermission",
     &kAuthRoleGrantPermissionRequest, &kAuthRoleGrantPermissionResponse},
    {"/v3/auth/role/revoke", "/etcdserverpb.Auth/RoleRevokePermission",
     &kAuthRoleRevokePermissionRequest, &kAuthRoleRevokePermissionResponse},
    {"/v3/lock/lock", "/v3lockpb.Lock/Lock", &kLockRequest, &kLockResponse},
    {"/v3/lock/unlock", "/v3lockpb.Lock/Unlock", &kUnlockRequest, &kUnlockResponse},
    {"/v3/election/campaign", "/v3electionpb.Election/Campaign", &kCampaignRequest,
     &kCampaignResponse},
    {"/v3/election/proclaim", "/v3electionpb.Election/Proclaim", &kProclaimRequest,
     &kProclaimResponse},
    {"/v3/election/leader", "/v3electionpb.Election/Leader", &kLeaderRequest, &kLeaderResponse},
    {"/v3/election/observe", "/v3electionpb.Election/Observe", &kLeaderRequest, &kLeaderResponse},
    {"/v3/election/resign", "/v3electionpb.Election/Resign", &kResignRequest, &kResignResponse},
};

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

const Route* FindRoute(std::string_view path) {
  const auto* const found = std::ranges::find(kRoutes, path, &Route::path);
  return found == std::end(kRoutes) ? nullptr : found;
}

}  // namespace kvorum::server::gateway
