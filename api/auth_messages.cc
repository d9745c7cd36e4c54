#include "api/auth_messages.h"

#include <vector>

#include "api/client_messages.h"
#include "api/tables.h"

namespace kvorum::server {
namespace {

using wire::Encoded;
using wire::Texts;

struct Name {
  std::string_view name;
};
constexpr auto kName = Describe<Name, Text<1, &Name::name, "name", kShown>>(
    "etcdserverpb.AuthUserGetRequest etcdserverpb.AuthUserDeleteRequest "
    "etcdserverpb.AuthRoleAddRequest");
constexpr auto kRoleName = Describe<Name, Text<1, &Name::name, "role", kShown>>(
    "etcdserverpb.AuthRoleGetRequest etcdserverpb.AuthRoleDeleteRequest");

constexpr auto kAuthenticate =
    Describe<AuthenticateRequest, Text<1, &AuthenticateRequest::name, "name">,
             Text<2, &AuthenticateRequest::password, "password">>(
        "etcdserverpb.AuthenticateRequest");

constexpr auto kLogin = Describe<LoginEntry, UncheckedText<1, &LoginEntry::name, "name">,
                                 UncheckedText<3, &LoginEntry::token_prefix, "simple_token">>(
    "etcdserverpb.InternalAuthenticateRequest");

constexpr auto kNoPassword = Describe<bool, Only<1, bool, "no_password">>("authpb.UserAddOptions");
// The options go into the log as received.
constexpr auto kUserAdd =
    Describe<UserPasswordRequest, Text<1, &UserPasswordRequest::name, "name">,
             Text<2, &UserPasswordRequest::password, "password">,
             Encoded<3, &UserPasswordRequest::options, kNoPassword, "options">,
             Text<4, &UserPasswordRequest::hashed_password, "hashedPassword">>(
        "etcdserverpb.AuthUserAddRequest");

constexpr auto kChangePassword =
    Describe<UserPasswordRequest, Text<1, &UserPasswordRequest::name, "name">,
             Text<2, &UserPasswordRequest::password, "password">,
             Text<3, &UserPasswordRequest::hashed_password, "hashedPassword">>(
        "etcdserverpb.AuthUserChangePasswordRequest");

constexpr auto kUserRole =
    Describe<UserRoleRequest, Text<1, &UserRoleRequest::user, "user", kShown>,
             Text<2, &UserRoleRequest::role, "role", kShown>>(
        "etcdserverpb.AuthUserGrantRoleRequest");
constexpr auto kNameRole =
    Describe<UserRoleRequest, Text<1, &UserRoleRequest::user, "name", kShown>,
             Text<2, &UserRoleRequest::role, "role", kShown>>(
        "etcdserverpb.AuthUserRevokeRoleRequest");

constexpr std::string_view kPermissionTypes[] = {"READ", "WRITE", "READWRITE"};
constexpr auto kPermission =
    Describe<auth::Permission,
             Enum<1, &auth::Permission::type, kPermissionTypes, "permType", kShown>,
             Field<2, &auth::Permission::key, "key", kShown>,
             Field<3, &auth::Permission::range_end, "range_end", kShown>>("authpb.Permission");
constexpr auto kGrantPermission =
    Describe<GrantPermissionRequest, Text<1, &GrantPermissionRequest::role, "name", kShown>,
             Nested<2, &GrantPermissionRequest::permission, kPermission, "perm", kShown>>(
        "etcdserverpb.AuthRoleGrantPermissionRequest");

constexpr auto kRevokePermission =
    Describe<RevokePermissionRequest, Text<1, &RevokePermissionRequest::role, "role", kShown>,
             Field<2, &RevokePermissionRequest::key, "key", kShown>,
             Field<3, &RevokePermissionRequest::range_end, "range_end", kShown>>(
        "etcdserverpb.AuthRoleRevokePermissionRequest");

struct StatusAnswer {
  ResponseHeader header;
  bool enabled = false;
  std::uint64_t revision = 0;
};
constexpr auto kStatusAnswer =
    Describe<StatusAnswer, Nested<1, &StatusAnswer::header, kResponseHeader, "header">,
             Field<2, &StatusAnswer::enabled, "enabled">,
             Field<3, &StatusAnswer::revision, "authRevision">>("etcdserverpb.AuthStatusResponse");

struct TokenAnswer {
  ResponseHeader header;
  std::string_view token;
};
constexpr auto kTokenAnswer =
    Describe<TokenAnswer, Nested<1, &TokenAnswer::header, kResponseHeader, "header">,
             Text<2, &TokenAnswer::token, "token">>("etcdserverpb.AuthenticateResponse");

struct NamesAnswer {
  ResponseHeader header;
  std::vector<std::string_view> names;
};
constexpr auto kRolesAnswer =
    Describe<NamesAnswer, Nested<1, &NamesAnswer::header, kResponseHeader, "header">,
             Text<2, &NamesAnswer::names, "roles">>(
        "etcdserverpb.AuthUserGetResponse etcdserverpb.AuthRoleListResponse");
constexpr auto kUsersAnswer =
    Describe<NamesAnswer, Nested<1, &NamesAnswer::header, kResponseHeader, "header">,
             Text<2, &NamesAnswer::names, "users">>("etcdserverpb.AuthUserListResponse");

struct RoleAnswer {
  ResponseHeader header;
  std::vector<auth::Permission> permissions;
};
constexpr auto kRoleAnswer =
    Describe<RoleAnswer, Nested<1, &RoleAnswer::header, kResponseHeader, "header">,
             Nested<2, &RoleAnswer::permissions, kPermission, "perm">>(
        "etcdserverpb.AuthRoleGetResponse");

constexpr const wire::Table* kAuthTables[] = {
    &kName,         &kRoleName,    &kAuthenticate,    &kLogin,
    &kUserAdd,      &kNoPassword,  &kChangePassword,  &kUserRole,
    &kNameRole,     &kPermission,  &kGrantPermission, &kRevokePermission,
    &kStatusAnswer, &kTokenAnswer, &kRolesAnswer,     &kUsersAnswer,
    &kRoleAnswer};

// The log has the hash only.
UserPasswordRequest WithoutPassword(UserPasswordRequest request) {
  request.password = {};
  return request;
}

Result<std::string_view> ReadName(std::string_view bytes, Texts texts) {
  KV_TRY(const Name decoded, wire::DecodeRequest(kName, bytes, texts));
  return decoded.name;
}

Result<UserPasswordRequest> ReadUserAdd(std::string_view bytes, Texts texts) {
  KV_TRY(UserPasswordRequest request, wire::DecodeRequest(kUserAdd, bytes, texts));
  if (request.options.has_value()) {
    KV_TRY(request.no_password, wire::DecodeRequest(kNoPassword, *request.options));
  }
  return request;
}

}  // namespace

MessageTables AuthTables() { return kAuthTables; }

Result<std::string_view> DecodeName(std::string_view bytes) {
  return ReadName(bytes, Texts::kAreUtf8);
}

Result<AuthenticateRequest> DecodeAuthenticate(std::string_view bytes) {
  return wire::DecodeRequest(kAuthenticate, bytes);
}

std::string EncodeAuthenticate(std::string_view name, std::string_view password) {
  return wire::Encode(kAuthenticate, {.name = name, .password = password});
}

Result<std::string> DecodeToken(std::string_view bytes) {
  TokenAnswer answer;
  if (wire::Decode(kTokenAnswer, bytes, answer) == wire::Decoded::kOk)
    return std::string(answer.token);
  return Fail(Code::kInternal, "an answer that cannot be read");
}

Result<LoginEntry> DecodeLoginEntry(std::string_view bytes) {
  return wire::DecodeRequest(kLogin, bytes);
}

std::string EncodeLoginEntry(const LoginEntry& entry) { return wire::Encode(kLogin, entry); }

Result<UserPasswordRequest> DecodeUserAdd(std::string_view bytes) {
  return ReadUserAdd(bytes, Texts::kAreUtf8);
}

std::string EncodeUserAdd(const UserPasswordRequest& request) {
  return wire::Encode(kUserAdd, WithoutPassword(request));
}

Result<UserPasswordRequest> DecodeChangePassword(std::string_view bytes) {
  return wire::DecodeRequest(kChangePassword, bytes);
}

std::string EncodeChangePassword(const UserPasswordRequest& request) {
  return wire::Encode(kChangePassword, WithoutPassword(request));
}

Result<UserRoleRequest> DecodeUserRole(std::string_view bytes) {
  return wire::DecodeRequest(kUserRole, bytes);
}

Result<GrantPermissionRequest> DecodeGrantPermission(std::string_view bytes) {
  return wire::DecodeRequest(kGrantPermission, bytes);
}

Result<RevokePermissionRequest> DecodeRevokePermission(std::string_view bytes) {
  return wire::DecodeRequest(kRevokePermission, bytes);
}

namespace logged {

Result<std::string_view> DecodeName(std::string_view bytes) {
  return ReadName(bytes, Texts::kAreAnyBytes);
}

Result<UserPasswordRequest> DecodeUserAdd(std::string_view bytes) {
  return ReadUserAdd(bytes, Texts::kAreAnyBytes);
}

Result<UserPasswordRequest> DecodeChangePassword(std::string_view bytes) {
  return wire::DecodeRequest(kChangePassword, bytes, Texts::kAreAnyBytes);
}

Result<UserRoleRequest> DecodeUserRole(std::string_view bytes) {
  return wire::DecodeRequest(kUserRole, bytes, Texts::kAreAnyBytes);
}

Result<GrantPermissionRequest> DecodeGrantPermission(std::string_view bytes) {
  return wire::DecodeRequest(kGrantPermission, bytes, Texts::kAreAnyBytes);
}

Result<RevokePermissionRequest> DecodeRevokePermission(std::string_view bytes) {
  return wire::DecodeRequest(kRevokePermission, bytes, Texts::kAreAnyBytes);
}

std::string EncodeUserAdd(UserPasswordRequest request) {
  const std::string options = wire::Encode(kNoPassword, request.no_password);
  if (request.options.has_value()) request.options = options;
  return server::EncodeUserAdd(request);
}

std::string EncodeName(std::string_view name) { return wire::Encode(kName, {.name = name}); }

std::string EncodeUserRole(const UserRoleRequest& request) {
  return wire::Encode(kUserRole, request);
}

std::string EncodeGrantPermission(const GrantPermissionRequest& request) {
  return wire::Encode(kGrantPermission, request);
}

std::string EncodeRevokePermission(const RevokePermissionRequest& request) {
  return wire::Encode(kRevokePermission, request);
}

}  // namespace logged

SharedBytes EncodeAuthStatusResponse(const ResponseHeader& header, bool enabled,
                                     std::uint64_t revision) {
  return wire::EncodeShared(kStatusAnswer,
                            {.header = header, .enabled = enabled, .revision = revision});
}

SharedBytes EncodeAuthenticateResponse(const ResponseHeader& header, std::string_view token) {
  return wire::EncodeShared(kTokenAnswer, {.header = header, .token = token});
}

// Users are written as roles are: the fields have one number.
SharedBytes EncodeNames(const ResponseHeader& header, std::span<const std::string> names) {
  return wire::EncodeShared(kRolesAnswer,
                            {.header = header, .names = {names.begin(), names.end()}});
}

SharedBytes EncodeRoleGetResponse(const ResponseHeader& header,
                                  std::span<const auth::Permission> permissions) {
  return wire::EncodeShared(
      kRoleAnswer, {.header = header, .permissions = {permissions.begin(), permissions.end()}});
}

}  // namespace kvorum::server
