// Users, roles and the rest of the auth state as records of the backend, mostly in the format of
// etcd's members. The single home of these keys and bytes.
//
//   table   key                  value
//   kAuth   authEnabled          one byte, 0 or 1
//   kAuth   authRevision         8 bytes, big-endian
//   kAuth   tokenRevision        8 bytes, big-endian: kvorum's own (auth_state.h)
//   kAuth   userRevision:NAME    8 bytes, big-endian: kvorum's own
//   kAuth   roleRevision:NAME    8 bytes, big-endian: kvorum's own
//   kUsers  NAME                 authpb.User
//   kRoles  NAME                 authpb.Role
//
// `password` holds the bcrypt hash as text ("$2a$10$…"), not its base64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/permission.h"
#include "base/error.h"

namespace kvorum::wire {
struct Table;
}

namespace kvorum::auth {

enum class Table : std::uint8_t { kAuth, kUsers, kRoles };

struct Record {
  Table table = Table::kAuth;
  std::string key;
  std::optional<std::string> value;  // nullopt: to be deleted

  friend bool operator==(const Record&, const Record&) = default;
};

inline constexpr std::string_view kEnabledKey = "authEnabled";
inline constexpr std::string_view kRevisionKey = "authRevision";
inline constexpr std::string_view kTokenRevisionKey = "tokenRevision";
inline constexpr std::string_view kUserRevisionPrefix = "userRevision:";
inline constexpr std::string_view kRoleRevisionPrefix = "roleRevision:";

// The bound of a user's or role's name: etcd's database takes no longer key, and its process ends
// at one.
inline constexpr std::size_t kMaxNameSizeBytes = 32'768;

struct UserRecord {
  std::string name;
  std::string password_hash;       // empty: no password fits
  std::vector<std::string> roles;  // sorted, each once
  // Absent in records of very old members; kept, since it shows in the bytes.
  std::optional<bool> no_password;

  bool is_without_password() const { return no_password.value_or(false); }
  friend bool operator==(const UserRecord&, const UserRecord&) = default;
};

struct RoleRecord {
  std::string name;
  std::vector<Permission> permissions;  // sorted by key, then in order of their grant

  friend bool operator==(const RoleRecord&, const RoleRecord&) = default;
};

std::string EncodeUser(const UserRecord& user);
std::string EncodeRole(const RoleRecord& role);
std::string EncodeRevision(std::uint64_t revision);
std::string EncodeEnabled(bool enabled);
// kDataLoss for bytes that are not a record, have no name, or are not in the order above.
Result<UserRecord> DecodeUser(std::string_view bytes);
Result<RoleRecord> DecodeRole(std::string_view bytes);
Result<std::uint64_t> DecodeRevision(std::string_view bytes);
Result<bool> DecodeEnabled(std::string_view bytes);

// The tables of all messages of this library, for the test that compares them with the .proto
// files.
std::span<const wire::Table* const> MessageTables();

}  // namespace kvorum::auth
