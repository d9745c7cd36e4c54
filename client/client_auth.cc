// Users, roles and permissions: the service Auth. Logging in is the caller's own task (caller.h).
#include "client/caller.h"
#include "client/client.h"
#include "proto/rpc.pb.h"

namespace kvorum::client {

using etcdserverpb::Auth;

Result<etcdserverpb::AuthEnableResponse> Client::AuthEnable(const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::AuthEnable, Repeat::kWrite,
                       etcdserverpb::AuthEnableRequest(), call);
}

Result<etcdserverpb::AuthDisableResponse> Client::AuthDisable(const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::AuthDisable, Repeat::kWrite,
                       etcdserverpb::AuthDisableRequest(), call);
}

Result<etcdserverpb::AuthStatusResponse> Client::AuthStatus(const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::AuthStatus, Repeat::kRead,
                       etcdserverpb::AuthStatusRequest(), call);
}

Result<etcdserverpb::AuthUserAddResponse> Client::UserAdd(
    const etcdserverpb::AuthUserAddRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::UserAdd, Repeat::kWrite, request, call);
}

Result<etcdserverpb::AuthUserGetResponse> Client::UserGet(
    const etcdserverpb::AuthUserGetRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::UserGet, Repeat::kRead, request, call);
}

Result<etcdserverpb::AuthUserListResponse> Client::UserList(const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::UserList, Repeat::kRead,
                       etcdserverpb::AuthUserListRequest(), call);
}

Result<etcdserverpb::AuthUserDeleteResponse> Client::UserDelete(
    const etcdserverpb::AuthUserDeleteRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::UserDelete, Repeat::kWrite, request, call);
}

Result<etcdserverpb::AuthUserChangePasswordResponse> Client::UserChangePassword(
    const etcdserverpb::AuthUserChangePasswordRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::UserChangePassword, Repeat::kWrite, request,
                       call);
}

Result<etcdserverpb::AuthUserGrantRoleResponse> Client::UserGrantRole(
    const etcdserverpb::AuthUserGrantRoleRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::UserGrantRole, Repeat::kWrite, request,
                       call);
}

Result<etcdserverpb::AuthUserRevokeRoleResponse> Client::UserRevokeRole(
    const etcdserverpb::AuthUserRevokeRoleRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::UserRevokeRole, Repeat::kWrite, request,
                       call);
}

Result<etcdserverpb::AuthRoleAddResponse> Client::RoleAdd(
    const etcdserverpb::AuthRoleAddRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::RoleAdd, Repeat::kWrite, request, call);
}

Result<etcdserverpb::AuthRoleGetResponse> Client::RoleGet(
    const etcdserverpb::AuthRoleGetRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::RoleGet, Repeat::kRead, request, call);
}

Result<etcdserverpb::AuthRoleListResponse> Client::RoleList(const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::RoleList, Repeat::kRead,
                       etcdserverpb::AuthRoleListRequest(), call);
}

Result<etcdserverpb::AuthRoleDeleteResponse> Client::RoleDelete(
    const etcdserverpb::AuthRoleDeleteRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::RoleDelete, Repeat::kWrite, request, call);
}

Result<etcdserverpb::AuthRoleGrantPermissionResponse> Client::RoleGrantPermission(
    const etcdserverpb::AuthRoleGrantPermissionRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::RoleGrantPermission, Repeat::kWrite, request,
                       call);
}

Result<etcdserverpb::AuthRoleRevokePermissionResponse> Client::RoleRevokePermission(
    const etcdserverpb::AuthRoleRevokePermissionRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::auth, &Auth::Stub::RoleRevokePermission, Repeat::kWrite,
                       request, call);
}

}  // namespace kvorum::client
