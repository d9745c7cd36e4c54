#include "auth/auth_record.h"

#include <algorithm>
#include <cstddef>

#include "proto/fields.h"

namespace kvorum::auth {
namespace {

using wire::Field;
using wire::Nested;
using wire::UncheckedText;

constexpr auto kOptions = wire::Describe<bool, wire::Only<1, bool>>(
    "authpb.UserAddOptions", wire::OtherTypes::kAreMalformed);
constexpr auto kUser =
    wire::Describe<UserRecord, Field<1, &UserRecord::name>, Field<2, &UserRecord::password_hash>,
                   UncheckedText<3, &UserRecord::roles>,
                   Nested<4, &UserRecord::no_password, kOptions>>("authpb.User",
                                                                  wire::OtherTypes::kAreMalformed);
constexpr auto kPermission =
    wire::Describe<Permission, Field<1, &Permission::type>, Field<2, &Permission::key>,
                   Field<3, &Permission::range_end>>("authpb.Permission",
                                                     wire::OtherTypes::kAreMalformed);
constexpr auto kRole = wire::Describe<RoleRecord, Field<1, &RoleRecord::name>,
                                      Nested<2, &RoleRecord::permissions, kPermission>>(
    "authpb.Role", wire::OtherTypes::kAreMalformed);
constexpr const wire::Table* kTables[] = {&kOptions, &kUser, &kPermission, &kRole};

constexpr std::size_t kRevisionSizeBytes = 8;

std::unexpected<Error> Malformed(std::string_view what) {
  return Fail(Code::kDataLoss, "auth: a stored " + std::string(what) + " is malformed");
}

}  // namespace

std::span<const wire::Table* const> MessageTables() { return kTables; }

std::string EncodeUser(const UserRecord& user) { return wire::Encode(kUser, user); }

std::string EncodeRole(const RoleRecord& role) { return wire::Encode(kRole, role); }

std::string EncodeRevision(std::uint64_t revision) {
  std::string out(kRevisionSizeBytes, '\0');
  for (std::size_t i = out.size(); i-- > 0; revision >>= 8)
    out[i] = static_cast<char>(revision & 0xff);
  return out;
}

std::string EncodeEnabled(bool enabled) { return {enabled ? '\1' : '\0'}; }

Result<UserRecord> DecodeUser(std::string_view bytes) {
  UserRecord user;
  const wire::Decoded outcome = wire::Decode(kUser, bytes, user);
  const bool sorted =
      std::ranges::adjacent_find(user.roles, std::ranges::greater_equal()) == user.roles.end();
  if (outcome != wire::Decoded::kOk || user.name.empty() || !sorted) return Malformed("user");
  return user;
}

Result<RoleRecord> DecodeRole(std::string_view bytes) {
  RoleRecord role;
  if (wire::Decode(kRole, bytes, role) != wire::Decoded::kOk || role.name.empty() ||
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
