#include "server/auth_messages.h"

#include <utility>

#include "proto/wire.h"
#include "server/text_reader.h"

namespace kvorum::server {
namespace {

// In all requests a name comes first.
constexpr std::uint32_t kName = 1;
// AuthenticateRequest, AuthUserAddRequest, AuthUserChangePasswordRequest
constexpr std::uint32_t kPassword = 2;
constexpr std::uint32_t kOptions = 3;
constexpr std::uint32_t kHashOfNew = 4;      // AuthUserAddRequest
constexpr std::uint32_t kHashOfChanged = 3;  // AuthUserChangePasswordRequest
constexpr std::uint32_t kNoPassword = 1;     // UserAddOptions
constexpr std::uint32_t kTokenPrefix = 3;    // InternalAuthenticateRequest
constexpr std::uint32_t kRole = 2;           // AuthUser…RoleRequest
constexpr std::uint32_t kPermission = 2;     // AuthRoleGrantPermissionRequest
// authpb.Permission
constexpr std::uint32_t kPermissionType = 1;
constexpr std::uint32_t kPermissionKey = 2;
constexpr std::uint32_t kPermissionEnd = 3;
// AuthRoleRevokePermissionRequest
constexpr std::uint32_t kRevokedKey = 2;
constexpr std::uint32_t kRevokedEnd = 3;
// Answers
constexpr std::uint32_t kEnabled = 2;
constexpr std::uint32_t kAuthRevision = 3;
constexpr std::uint32_t kToken = 2;
constexpr std::uint32_t kNames = 2;
constexpr std::uint32_t kPermissions = 2;

template <class T, class Read>
Result<T> Decode(std::string_view bytes, Read&& read) {
  T value{};
  TextReader reader(bytes);
  while (reader.Next()) read(reader, value);
  KV_RETURN_IF_ERROR(reader.Outcome());
  return value;
}

void ReadPermission(wire::Reader& outer, auth::Permission& permission) {
  wire::Reader reader(outer.Bytes());
  while (reader.Next()) {
    switch (reader.field()) {
      case kPermissionType:
        permission.type =
            static_cast<auth::PermissionType>(static_cast<std::int32_t>(reader.Varint()));
        break;
      case kPermissionKey:
        permission.key = reader.Bytes();
        break;
      case kPermissionEnd:
        permission.range_end = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) outer.Stop();
}

void ReadOptions(wire::Reader& outer, UserPasswordRequest& request) {
  request.has_options = true;
  request.options = outer.Bytes();
  wire::Reader reader(request.options);
  while (reader.Next()) {
    if (reader.field() == kNoPassword) {
      request.no_password = reader.Bool();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) outer.Stop();
}

}  // namespace

Result<std::string_view> DecodeName(std::string_view bytes) {
  return Decode<std::string_view>(bytes, [](TextReader& reader, std::string_view& name) {
    if (reader.field() == kName) {
      name = reader.Text();
    } else {
      reader.Skip();
    }
  });
}

Result<AuthenticateRequest> DecodeAuthenticate(std::string_view bytes) {
  return Decode<AuthenticateRequest>(bytes, [](TextReader& reader, AuthenticateRequest& request) {
    switch (reader.field()) {
      case kName:
        request.name = reader.Text();
        break;
      case kPassword:
        request.password = reader.Text();
        break;
      default:
        reader.Skip();
    }
  });
}

Result<LoginEntry> DecodeLoginEntry(std::string_view bytes) {
  return Decode<LoginEntry>(bytes, [](TextReader& reader, LoginEntry& entry) {
    switch (reader.field()) {
      case kName:
        entry.name = reader.Text();
        break;
      case kTokenPrefix:
        entry.token_prefix = reader.Text();
        break;
      default:
        reader.Skip();
    }
  });
}

std::string EncodeLoginEntry(const LoginEntry& entry) {
  std::string out;
  wire::AppendBytes(out, kName, entry.name);
  wire::AppendBytes(out, kTokenPrefix, entry.token_prefix);
  return out;
}

Result<UserPasswordRequest> DecodeUserAdd(std::string_view bytes) {
  return Decode<UserPasswordRequest>(bytes, [](TextReader& reader, UserPasswordRequest& request) {
    switch (reader.field()) {
      case kName:
        request.name = reader.Text();
        break;
      case kPassword:
        request.password = reader.Text();
        break;
      case kOptions:
        ReadOptions(reader, request);
        break;
      case kHashOfNew:
        request.hashed_password = reader.Text();
        break;
      default:
        reader.Skip();
    }
  });
}

std::string EncodeUserAdd(const UserPasswordRequest& request) {
  std::string out;
  wire::AppendBytes(out, kName, request.name);
  if (request.has_options) wire::AppendBytesAlways(out, kOptions, request.options);
  wire::AppendBytes(out, kHashOfNew, request.hashed_password);
  return out;
}

Result<UserPasswordRequest> DecodeChangePassword(std::string_view bytes) {
  return Decode<UserPasswordRequest>(bytes, [](TextReader& reader, UserPasswordRequest& request) {
    switch (reader.field()) {
      case kName:
        request.name = reader.Text();
        break;
      case kPassword:
        request.password = reader.Text();
        break;
      case kHashOfChanged:
        request.hashed_password = reader.Text();
        break;
      default:
        reader.Skip();
    }
  });
}

std::string EncodeChangePassword(const UserPasswordRequest& request) {
  std::string out;
  wire::AppendBytes(out, kName, request.name);
  wire::AppendBytes(out, kHashOfChanged, request.hashed_password);
  return out;
}

Result<UserRoleRequest> DecodeUserRole(std::string_view bytes) {
  return Decode<UserRoleRequest>(bytes, [](TextReader& reader, UserRoleRequest& request) {
    switch (reader.field()) {
      case kName:
        request.user = reader.Text();
        break;
      case kRole:
        request.role = reader.Text();
        break;
      default:
        reader.Skip();
    }
  });
}

Result<GrantPermissionRequest> DecodeGrantPermission(std::string_view bytes) {
  return Decode<GrantPermissionRequest>(bytes,
                                        [](TextReader& reader, GrantPermissionRequest& request) {
                                          switch (reader.field()) {
                                            case kName:
                                              request.role = reader.Text();
                                              break;
                                            case kPermission:
                                              request.has_permission = true;
                                              ReadPermission(reader, request.permission);
                                              break;
                                            default:
                                              reader.Skip();
                                          }
                                        });
}

Result<RevokePermissionRequest> DecodeRevokePermission(std::string_view bytes) {
  return Decode<RevokePermissionRequest>(bytes,
                                         [](TextReader& reader, RevokePermissionRequest& request) {
                                           switch (reader.field()) {
                                             case kName:
                                               request.role = reader.Text();
                                               break;
                                             case kRevokedKey:
                                               request.key = reader.Bytes();
                                               break;
                                             case kRevokedEnd:
                                               request.range_end = reader.Bytes();
                                               break;
                                             default:
                                               reader.Skip();
                                           }
                                         });
}

SharedBytes EncodeAuthStatusResponse(const ResponseHeader& header, bool enabled,
                                     std::uint64_t revision) {
  std::string out;
  AppendHeader(out, header);
  wire::AppendUint(out, kEnabled, enabled ? 1 : 0);
  wire::AppendUint(out, kAuthRevision, revision);
  return SharedBytes::Own(std::move(out));
}

SharedBytes EncodeAuthenticateResponse(const ResponseHeader& header, std::string_view token) {
  std::string out;
  AppendHeader(out, header);
  wire::AppendBytes(out, kToken, token);
  return SharedBytes::Own(std::move(out));
}

SharedBytes EncodeNames(const ResponseHeader& header, std::span<const std::string> names) {
  std::string out;
  AppendHeader(out, header);
  for (const std::string& name : names) wire::AppendBytesAlways(out, kNames, name);
  return SharedBytes::Own(std::move(out));
}

SharedBytes EncodeRoleGetResponse(const ResponseHeader& header,
                                  std::span<const auth::Permission> permissions) {
  std::string out;
  AppendHeader(out, header);
  for (const auth::Permission& permission : permissions) {
    std::string message;
    wire::AppendUint(message, kPermissionType, static_cast<std::uint64_t>(permission.type));
    wire::AppendBytes(message, kPermissionKey, permission.key);
    wire::AppendBytes(message, kPermissionEnd, permission.range_end);
    wire::AppendBytesAlways(out, kPermissions, message);
  }
  return SharedBytes::Own(std::move(out));
}

}  // namespace kvorum::server
