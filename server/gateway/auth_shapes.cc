// The messages of Auth.
#include "server/gateway/message_shapes.h"

namespace kvorum::server::gateway {
namespace {

using enum ValueType;

constexpr std::string_view kPermissionTypeNames[] = {"READ", "WRITE", "READWRITE"};

constexpr FieldShape kUserAddOptionsFields[] = {One(1, "no_password", kBool)};
constexpr FieldShape kPermissionFields[] = {
    Enum(1, "permType", kPermissionTypeNames),
    One(2, "key", kBytes),
    One(3, "range_end", kBytes),
};
constexpr FieldShape kAuthStatusResponseFields[] = {
    Part(1, "header", kResponseHeader),
    One(2, "enabled", kBool),
    One(3, "authRevision", kUint64),
};
constexpr FieldShape kAuthenticateRequestFields[] = {One(1, "name", kString),
                                                     One(2, "password", kString)};
constexpr FieldShape kAuthenticateResponseFields[] = {Part(1, "header", kResponseHeader),
                                                      One(2, "token", kString)};
constexpr FieldShape kAuthUserAddRequestFields[] = {
    One(1, "name", kString),
    One(2, "password", kString),
    Part(3, "options", kUserAddOptions),
    One(4, "hashedPassword", kString),
};
constexpr FieldShape kAuthUserGetRequestFields[] = {One(1, "name", kString)};
constexpr FieldShape kAuthUserGetResponseFields[] = {Part(1, "header", kResponseHeader),
                                                     Many(One(2, "roles", kString))};
constexpr FieldShape kAuthUserListResponseFields[] = {Part(1, "header", kResponseHeader),
                                                      Many(One(2, "users", kString))};
constexpr FieldShape kAuthUserDeleteRequestFields[] = {One(1, "name", kString)};
constexpr FieldShape kAuthUserChangePasswordRequestFields[] = {
    One(1, "name", kString),
    One(2, "password", kString),
    One(3, "hashedPassword", kString),
};
constexpr FieldShape kAuthUserGrantRoleRequestFields[] = {One(1, "user", kString),
                                                          One(2, "role", kString)};
constexpr FieldShape kAuthUserRevokeRoleRequestFields[] = {One(1, "name", kString),
                                                           One(2, "role", kString)};
constexpr FieldShape kAuthRoleAddRequestFields[] = {One(1, "name", kString)};
constexpr FieldShape kAuthRoleGetRequestFields[] = {One(1, "role", kString)};
constexpr FieldShape kAuthRoleGetResponseFields[] = {Part(1, "header", kResponseHeader),
                                                     Many(Part(2, "perm", kPermission))};
constexpr FieldShape kAuthRoleListResponseFields[] = {Part(1, "header", kResponseHeader),
                                                      Many(One(2, "roles", kString))};
constexpr FieldShape kAuthRoleDeleteRequestFields[] = {One(1, "role", kString)};
constexpr FieldShape kAuthRoleGrantPermissionRequestFields[] = {One(1, "name", kString),
                                                                Part(2, "perm", kPermission)};
constexpr FieldShape kAuthRoleRevokePermissionRequestFields[] = {
    One(1, "role", kString),
    One(2, "key", kBytes),
    One(3, "range_end", kBytes),
};

}  // namespace

constinit const MessageShape kUserAddOptions{"authpb.UserAddOptions", kUserAddOptionsFields};
constinit const MessageShape kPermission{"authpb.Permission", kPermissionFields};
constinit const MessageShape kAuthEnableRequest{"etcdserverpb.AuthEnableRequest", {}};
constinit const MessageShape kAuthEnableResponse{"etcdserverpb.AuthEnableResponse", kHeaderAlone};
constinit const MessageShape kAuthDisableRequest{"etcdserverpb.AuthDisableRequest", {}};
constinit const MessageShape kAuthDisableResponse{"etcdserverpb.AuthDisableResponse", kHeaderAlone};
constinit const MessageShape kAuthStatusRequest{"etcdserverpb.AuthStatusRequest", {}};
constinit const MessageShape kAuthStatusResponse{"etcdserverpb.AuthStatusResponse",
                                                 kAuthStatusResponseFields};
constinit const MessageShape kAuthenticateRequest{"etcdserverpb.AuthenticateRequest",
                                                  kAuthenticateRequestFields};
constinit const MessageShape kAuthenticateResponse{"etcdserverpb.AuthenticateResponse",
                                                   kAuthenticateResponseFields};
constinit const MessageShape kAuthUserAddRequest{"etcdserverpb.AuthUserAddRequest",
                                                 kAuthUserAddRequestFields};
constinit const MessageShape kAuthUserAddResponse{"etcdserverpb.AuthUserAddResponse", kHeaderAlone};
constinit const MessageShape kAuthUserGetRequest{"etcdserverpb.AuthUserGetRequest",
                                                 kAuthUserGetRequestFields};
constinit const MessageShape kAuthUserGetResponse{"etcdserverpb.AuthUserGetResponse",
                                                  kAuthUserGetResponseFields};
constinit const MessageShape kAuthUserListRequest{"etcdserverpb.AuthUserListRequest", {}};
constinit const MessageShape kAuthUserListResponse{"etcdserverpb.AuthUserListResponse",
                                                   kAuthUserListResponseFields};
constinit const MessageShape kAuthUserDeleteRequest{"etcdserverpb.AuthUserDeleteRequest",
                                                    kAuthUserDeleteRequestFields};
constinit const MessageShape kAuthUserDeleteResponse{"etcdserverpb.AuthUserDeleteResponse",
                                                     kHeaderAlone};
constinit const MessageShape kAuthUserChangePasswordRequest{
    "etcdserverpb.AuthUserChangePasswordRequest", kAuthUserChangePasswordRequestFields};
constinit const MessageShape kAuthUserChangePasswordResponse{
    "etcdserverpb.AuthUserChangePasswordResponse", kHeaderAlone};
constinit const MessageShape kAuthUserGrantRoleRequest{"etcdserverpb.AuthUserGrantRoleRequest",
                                                       kAuthUserGrantRoleRequestFields};
constinit const MessageShape kAuthUserGrantRoleResponse{"etcdserverpb.AuthUserGrantRoleResponse",
                                                        kHeaderAlone};
constinit const MessageShape kAuthUserRevokeRoleRequest{"etcdserverpb.AuthUserRevokeRoleRequest",
                                                        kAuthUserRevokeRoleRequestFields};
constinit const MessageShape kAuthUserRevokeRoleResponse{"etcdserverpb.AuthUserRevokeRoleResponse",
                                                         kHeaderAlone};
constinit const MessageShape kAuthRoleAddRequest{"etcdserverpb.AuthRoleAddRequest",
                                                 kAuthRoleAddRequestFields};
constinit const MessageShape kAuthRoleAddResponse{"etcdserverpb.AuthRoleAddResponse", kHeaderAlone};
constinit const MessageShape kAuthRoleGetRequest{"etcdserverpb.AuthRoleGetRequest",
                                                 kAuthRoleGetRequestFields};
constinit const MessageShape kAuthRoleGetResponse{"etcdserverpb.AuthRoleGetResponse",
                                                  kAuthRoleGetResponseFields};
constinit const MessageShape kAuthRoleListRequest{"etcdserverpb.AuthRoleListRequest", {}};
constinit const MessageShape kAuthRoleListResponse{"etcdserverpb.AuthRoleListResponse",
                                                   kAuthRoleListResponseFields};
constinit const MessageShape kAuthRoleDeleteRequest{"etcdserverpb.AuthRoleDeleteRequest",
                                                    kAuthRoleDeleteRequestFields};
constinit const MessageShape kAuthRoleDeleteResponse{"etcdserverpb.AuthRoleDeleteResponse",
                                                     kHeaderAlone};
constinit const MessageShape kAuthRoleGrantPermissionRequest{
    "etcdserverpb.AuthRoleGrantPermissionRequest", kAuthRoleGrantPermissionRequestFields};
constinit const MessageShape kAuthRoleGrantPermissionResponse{
    "etcdserverpb.AuthRoleGrantPermissionResponse", kHeaderAlone};
constinit const MessageShape kAuthRoleRevokePermissionRequest{
    "etcdserverpb.AuthRoleRevokePermissionRequest", kAuthRoleRevokePermissionRequestFields};
constinit const MessageShape kAuthRoleRevokePermissionResponse{
    "etcdserverpb.AuthRoleRevokePermissionResponse", kHeaderAlone};

}  // namespace kvorum::server::gateway
