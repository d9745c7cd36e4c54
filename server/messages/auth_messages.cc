#include "server/messages/auth_messages.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "proto/wire.h"
#include "server/messages/text_reader.h"

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

struct Name {
  std::string_view name;
};

// Where a message of texts has each of them.
template <class T>
struct Place {
  std::uint32_t field;
  std::string_view T::* text;
};

// `read` gets the fields that are none of these.
template <class T, class Read>
Result<T> Decode(std::string_view bytes, std::initializer_list<Place<T>> texts, Read&& read) {
  T value{};
  TextReader reader(bytes);
  while (reader.Next()) {
    const auto* const place = std::ranges::find(
        texts, reader.tag(), [](const Place<T>& each) { return wire::BytesTag(each.field); });
    if (place != texts.end()) {
      value.*(place->text) = reader.Text();
    } else {
      read(reader, value);
    }
  }
  KV_RETURN_IF_ERROR(reader.Outcome());
  return value;
}
template <class T>
Result<T> Decode(std::string_view bytes, std::initializer_list<Place<T>> texts) {
  return Decode<T>(bytes, texts, [](TextReader& reader, T&) { reader.Skip(); });
}

void ReadPermission(wire::Reader& outer, auth::Permission& permission) {
  wire::Reader reader(outer.Bytes());
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::VarintTag(kPermissionType):
        permission.type =
            static_cast<auth::PermissionType>(static_cast<std::int32_t>(reader.Varint()));
        break;
      case wire::BytesTag(kPermissionKey):
        permission.key = reader.Bytes();
        break;
      case wire::BytesTag(kPermissionEnd):
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
    if (reader.tag() == wire::VarintTag(kNoPassword)) {
      request.no_password = reader.Bool();
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) outer.Stop();
}

}  // namespace

Result<std::string_view> DecodeName(std::string_view bytes) {
  KV_TRY(const Name decoded, Decode<Name>(bytes, {{kName, &Name::name}}));
  return decoded.name;
}

Result<AuthenticateRequest> DecodeAuthenticate(std::string_view bytes) {
  using Message = AuthenticateRequest;
  return Decode<Message>(bytes, {{kName, &Message::name}, {kPassword, &Message::password}});
}

Result<LoginEntry> DecodeLoginEntry(std::string_view bytes) {
  using Message = LoginEntry;
  return Decode<Message>(bytes, {{kName, &Message::name}, {kTokenPrefix, &Message::token_prefix}});
}

std::string EncodeLoginEntry(const LoginEntry& entry) {
  std::string out;
  wire::AppendBytes(out, kName, entry.name);
  wire::AppendBytes(out, kTokenPrefix, entry.token_prefix);
  return out;
}

Result<UserPasswordRequest> DecodeUserAdd(std::string_view bytes) {
  using Message = UserPasswordRequest;
  return Decode<Message>(bytes,
                         {{kName, &Message::name},
                          {kPassword, &Message::password},
                          {kHashOfNew, &Message::hashed_password}},
                         [](TextReader& reader, Message& request) {
                           if (reader.tag() == wire::BytesTag(kOptions))
                             return ReadOptions(reader, request);
                           reader.Skip();
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
  using Message = UserPasswordRequest;
  return Decode<Message>(bytes, {{kName, &Message::name},
                                 {kPassword, &Message::password},
                                 {kHashOfChanged, &Message::hashed_password}});
}

std::string EncodeChangePassword(const UserPasswordRequest& request) {
  std::string out;
  wire::AppendBytes(out, kName, request.name);
  wire::AppendBytes(out, kHashOfChanged, request.hashed_password);
  return out;
}

Result<UserRoleRequest> DecodeUserRole(std::string_view bytes) {
  using Message = UserRoleRequest;
  return Decode<Message>(bytes, {{kName, &Message::user}, {kRole, &Message::role}});
}

Result<GrantPermissionRequest> DecodeGrantPermission(std::string_view bytes) {
  using Message = GrantPermissionRequest;
  return Decode<Message>(bytes, {{kName, &Message::role}},
                         [](TextReader& reader, Message& request) {
                           if (reader.tag() != wire::BytesTag(kPermission)) return reader.Skip();
                           request.has_permission = true;
                           ReadPermission(reader, request.permission);
                         });
}

Result<RevokePermissionRequest> DecodeRevokePermission(std::string_view bytes) {
  using Message = RevokePermissionRequest;
  return Decode<Message>(bytes, {{kName, &Message::role}},
                         [](TextReader& reader, Message& request) {
                           switch (reader.tag()) {
                             case wire::BytesTag(kRevokedKey):
                               request.key = reader.Bytes();
                               break;
                             case wire::BytesTag(kRevokedEnd):
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
