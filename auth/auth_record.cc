#include "auth/auth_record.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "proto/wire.h"

namespace kvorum::auth {
namespace {

namespace user_field {
constexpr std::uint32_t kName = 1;
constexpr std::uint32_t kPassword = 2;
constexpr std::uint32_t kRoles = 3;
constexpr std::uint32_t kOptions = 4;
constexpr std::uint32_t kNoPassword = 1;  // of the options
}  // namespace user_field
namespace role_field {
constexpr std::uint32_t kName = 1;
constexpr std::uint32_t kKeyPermission = 2;
constexpr std::uint32_t kType = 1;  // of a permission, as the next two
constexpr std::uint32_t kKey = 2;
constexpr std::uint32_t kRangeEnd = 3;
}  // namespace role_field

constexpr std::size_t kRevisionSizeBytes = 8;

std::unexpected<Error> Malformed(std::string_view what) {
  return Fail(Code::kDataLoss, "auth: a stored " + std::string(what) + " is malformed");
}

std::string EncodePermission(const Permission& permission) {
  std::string out;
  wire::AppendInt(out, role_field::kType, static_cast<std::int32_t>(permission.type));
  wire::AppendBytes(out, role_field::kKey, permission.key);
  wire::AppendBytes(out, role_field::kRangeEnd, permission.range_end);
  return out;
}

bool DecodePermission(std::string_view bytes, Permission& permission) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case role_field::kType:
        permission.type = static_cast<PermissionType>(static_cast<std::int32_t>(reader.Varint()));
        break;
      case role_field::kKey:
        permission.key = reader.Bytes();
        break;
      case role_field::kRangeEnd:
        permission.range_end = reader.Bytes();
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok();
}

bool DecodeOptions(std::string_view bytes, bool& no_password) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == user_field::kNoPassword) {
      no_password = reader.Bool();
    } else {
      reader.Skip();
    }
  }
  return reader.ok();
}

}  // namespace

std::string EncodeUser(const UserRecord& user) {
  std::string out;
  wire::AppendBytes(out, user_field::kName, user.name);
  wire::AppendBytes(out, user_field::kPassword, user.password_hash);
  for (const std::string& role : user.roles) wire::AppendBytesAlways(out, user_field::kRoles, role);
  if (user.no_password) {
    std::string options;
    wire::AppendBool(options, user_field::kNoPassword, *user.no_password);
    wire::AppendBytesAlways(out, user_field::kOptions, options);
  }
  return out;
}

std::string EncodeRole(const RoleRecord& role) {
  std::string out;
  wire::AppendBytes(out, role_field::kName, role.name);
  for (const Permission& permission : role.permissions)
    wire::AppendBytesAlways(out, role_field::kKeyPermission, EncodePermission(permission));
  return out;
}

std::string EncodeRevision(std::uint64_t revision) {
  std::string out(kRevisionSizeBytes, '\0');
  for (std::size_t i = out.size(); i-- > 0; revision >>= 8)
    out[i] = static_cast<char>(revision & 0xff);
  return out;
}

std::string EncodeEnabled(bool enabled) { return {enabled ? '\1' : '\0'}; }

Result<UserRecord> DecodeUser(std::string_view bytes) {
  UserRecord user;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case user_field::kName:
        user.name = reader.Bytes();
        break;
      case user_field::kPassword:
        user.password_hash = reader.Bytes();
        break;
      case user_field::kRoles:
        user.roles.emplace_back(reader.Bytes());
        break;
      case user_field::kOptions: {
        bool no_password = user.is_without_password();
        if (!DecodeOptions(reader.Bytes(), no_password)) reader.Stop();
        user.no_password = no_password;
        break;
      }
      default:
        reader.Skip();
    }
  }
  const bool sorted =
      std::ranges::adjacent_find(user.roles, std::ranges::greater_equal()) == user.roles.end();
  if (!reader.ok() || user.name.empty() || !sorted) return Malformed("user");
  return user;
}

Result<RoleRecord> DecodeRole(std::string_view bytes) {
  RoleRecord role;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case role_field::kName:
        role.name = reader.Bytes();
        break;
      case role_field::kKeyPermission:
        if (!DecodePermission(reader.Bytes(), role.permissions.emplace_back())) reader.Stop();
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok() || role.name.empty() ||
      !std::ranges::is_sorted(role.permissions, {}, &Permission::key))
    return Malformed("role");
  return role;
}

Result<std::uint64_t> DecodeRevision(std::string_view bytes) {
  if (bytes.size() != kRevisionSizeBytes) return Malformed("revision");
  std::uint64_t revision = 0;
  for (const char byte : bytes) revision = revision << 8 | static_cast<std::uint8_t>(byte);
  return revision;
}

Result<bool> DecodeEnabled(std::string_view bytes) {
  if (bytes != EncodeEnabled(false) && bytes != EncodeEnabled(true)) return Malformed("switch");
  return bytes[0] != '\0';
}

}  // namespace kvorum::auth
