// The Auth service's messages: requests and answers of clients, and log entries.
//
// Views point into the given bytes. Errors: MalformedRequest, like kv_decode.h's; a client's names
// must be UTF-8. Names in the log may be any bytes, since members of etcd before 3.7 check none:
// what is in the log is decided, and the namespace `logged` reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/kv_encode.h"
#include "auth/permission.h"
#include "base/error.h"
#include "base/shared_bytes.h"

namespace kvorum::server {

// AuthUserGetRequest, AuthUserDeleteRequest, AuthRoleAddRequest, AuthRoleGetRequest and
// AuthRoleDeleteRequest consist of a name.
Result<std::string_view> DecodeName(std::string_view bytes);

struct AuthenticateRequest {
  std::string_view name;
  std::string_view password;
};
Result<AuthenticateRequest> DecodeAuthenticate(std::string_view bytes);

// A login's log entry: the member that was asked has checked the password, and its token begins
// with these letters.
struct LoginEntry {
  std::string_view name;
  std::string_view token_prefix;
};
Result<LoginEntry> DecodeLoginEntry(std::string_view bytes);
std::string EncodeLoginEntry(const LoginEntry& entry);

// For AuthUserAddRequest and AuthUserChangePasswordRequest, which has no options. The log has the
// hash, in base64, and no password.
struct UserPasswordRequest {
  std::string_view name = {};
  std::string_view password = {};
  std::optional<std::string_view> options = {};  // UserAddOptions, encoded
  bool no_password = false;
  std::string_view hashed_password = {};
};
Result<UserPasswordRequest> DecodeUserAdd(std::string_view bytes);
std::string EncodeUserAdd(const UserPasswordRequest& request);
Result<UserPasswordRequest> DecodeChangePassword(std::string_view bytes);
std::string EncodeChangePassword(const UserPasswordRequest& request);

// For AuthUserGrantRoleRequest and AuthUserRevokeRoleRequest.
struct UserRoleRequest {
  std::string_view user;
  std::string_view role;
};
Result<UserRoleRequest> DecodeUserRole(std::string_view bytes);

struct GrantPermissionRequest {
  std::string_view role;
  std::optional<auth::Permission> permission;
};
Result<GrantPermissionRequest> DecodeGrantPermission(std::string_view bytes);

struct RevokePermissionRequest {
  std::string_view role;
  std::string_view key;
  std::string_view range_end;
};
Result<RevokePermissionRequest> DecodeRevokePermission(std::string_view bytes);

namespace logged {

Result<std::string_view> DecodeName(std::string_view bytes);
Result<UserPasswordRequest> DecodeUserAdd(std::string_view bytes);
Result<UserPasswordRequest> DecodeChangePassword(std::string_view bytes);
Result<UserRoleRequest> DecodeUserRole(std::string_view bytes);
Result<GrantPermissionRequest> DecodeGrantPermission(std::string_view bytes);
Result<RevokePermissionRequest> DecodeRevokePermission(std::string_view bytes);

// Written anew: the options with no more than what they say.
std::string EncodeUserAdd(UserPasswordRequest request);
std::string EncodeName(std::string_view name);
std::string EncodeUserRole(const UserRoleRequest& request);
std::string EncodeGrantPermission(const GrantPermissionRequest& request);
std::string EncodeRevokePermission(const RevokePermissionRequest& request);

}  // namespace logged

SharedBytes EncodeAuthStatusResponse(const ResponseHeader& header, bool enabled,
                                     std::uint64_t revision);
SharedBytes EncodeAuthenticateResponse(const ResponseHeader& header, std::string_view token);
// For AuthUserGetResponse, AuthUserListResponse and AuthRoleListResponse.
SharedBytes EncodeNames(const ResponseHeader& header, std::span<const std::string> names);
SharedBytes EncodeRoleGetResponse(const ResponseHeader& header,
                                  std::span<const auth::Permission> permissions);

}  // namespace kvorum::server
