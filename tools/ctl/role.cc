#include <fmt/format.h>

#include <span>

#include "base/key_range.h"
#include "base/letter_case.h"
#include "proto/auth.pb.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/kv_requests.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"

namespace kvorum::ctl {
namespace {

struct GrantedRange {
  std::string key;
  std::string end;
};

// Takes KEY [END] and the flags. Without a key, the flags mean all keys.
Outcome<GrantedRange> PermissionRange(const FlagSet& flags, std::span<const std::string> args) {
  const bool prefix = flags.Switch("prefix");
  const bool from_key = flags.Switch("from-key");
  const std::string& key = args.front();
  const std::string zero(1, '\0');
  const bool has_both = prefix && from_key;
  if (has_both && (key.empty() || args.size() == 1))
    return BadArguments("--from-key and --prefix flags are mutually exclusive");
  if (key.empty()) return GrantedRange{zero, prefix || from_key ? zero : ""};
  if (args.size() == 1) {
    if (prefix) return GrantedRange{key, PrefixEnd(key)};
    return GrantedRange{key, from_key ? zero : ""};
  }
  if (prefix) return BadArguments("unexpected endkey argument with --prefix flag");
  if (from_key) return BadArguments("unexpected endkey argument with --from-key flag");
  return GrantedRange{key, args[1]};
}

Outcome<authpb::Permission::Type> PermissionType(const std::string& text) {
  authpb::Permission::Type type{};
  if (authpb::Permission::Type_Parse(UpperCase(text), &type)) return type;
  return BadArguments("invalid permission type: " + text);
}

Outcome<void> AddRole(Invocation& invocation) {
  etcdserverpb::AuthRoleAddRequest request;
  KV_TRY(*request.mutable_name(), NameArgument(invocation));
  return ChangeAuth(invocation, &client::Client::RoleAdd, request,
                    fmt::format("Role {} created", request.name()));
}

Outcome<void> DeleteRole(Invocation& invocation) {
  etcdserverpb::AuthRoleDeleteRequest request;
  KV_TRY(*request.mutable_role(), NameArgument(invocation));
  return ChangeAuth(invocation, &client::Client::RoleDelete, request,
                    fmt::format("Role {} deleted", request.role()));
}

Outcome<void> GetRole(Invocation& invocation) {
  etcdserverpb::AuthRoleGetRequest request;
  KV_TRY(*request.mutable_role(), NameArgument(invocation));
  KV_TRY(const auto connected, Connect(invocation));
  KV_TRY(const auto response, connected.client->RoleGet(request, connected.session.Call()));
  return connected.session.printer().RoleGet(request.role(), response);
}

Outcome<void> ListRoles(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "role list command requires no arguments"));
  KV_TRY(const auto connected, Connect(invocation));
  KV_TRY(const auto response, connected.client->RoleList(connected.session.Call()));
  return connected.session.printer().RoleList(response);
}

Outcome<void> GrantPermission(Invocation& invocation) {
  if (invocation.args.size() < 3)
    return BadArguments(
        "role grant command requires role name, permission type, and key [endkey] as its argument");
  KV_TRY(const auto type, PermissionType(invocation.args[1]));
  KV_TRY(const auto range,
         PermissionRange(invocation.flags, std::span(invocation.args).subspan(2)));
  etcdserverpb::AuthRoleGrantPermissionRequest request;
  request.set_name(invocation.args.front());
  request.mutable_perm()->set_permtype(type);
  request.mutable_perm()->set_key(range.key);
  request.mutable_perm()->set_range_end(range.end);
  return ChangeAuth(invocation, &client::Client::RoleGrantPermission, request,
                    fmt::format("Role {} updated", request.name()));
}

std::string RevokedText(const std::string& role, const std::string& key, const std::string& end) {
  if (end.empty()) return fmt::format("Permission of key {} is revoked from role {}", key, role);
  if (end == std::string(1, '\0'))
    return fmt::format("Permission of range [{}, <open ended> is revoked from role {}", key, role);
  return fmt::format("Permission of range [{}, {}) is revoked from role {}", key, end, role);
}

Outcome<void> RevokePermission(Invocation& invocation) {
  if (invocation.args.size() < 2)
    return BadArguments(
        "role revoke-permission command requires role name and key [endkey] as its argument");
  KV_TRY(const auto range,
         PermissionRange(invocation.flags, std::span(invocation.args).subspan(1)));
  etcdserverpb::AuthRoleRevokePermissionRequest request;
  request.set_role(invocation.args.front());
  request.set_key(range.key);
  request.set_range_end(range.end);
  return ChangeAuth(invocation, &client::Client::RoleRevokePermission, request,
                    RevokedText(request.role(), invocation.args[1], range.end));
}

std::vector<Flag> RangeFlags(std::string_view verb) {
  return {
      {.name = "prefix", .help = fmt::format("{} the keys with this prefix", verb)},
      {.name = "from-key",
       .help = fmt::format("{} the key and all keys after it, in the order of their bytes", verb)}};
}

}  // namespace

Command RoleCommand() {
  return {.use = "role <subcommand>",
          .brief = "Role related commands. Use `kvorumctl role --help` to see subcommands",
          .description = "Role related commands",
          .group = kAuthenticationGroup,
          .children = {
              {.use = "add <role name>", .brief = "Adds a new role", .run = AddRole},
              {.use = "delete <role name>", .brief = "Deletes a role", .run = DeleteRole},
              {.use = "get <role name>",
               .brief = "Gets detailed information of a role",
               .run = GetRole},
              {.use = "list", .brief = "Lists all roles", .run = ListRoles},
              {.use = "grant-permission [options] <role name> <permission type> <key> [endkey]",
               .brief = "Grants a key to a role",
               .description = R"(Grants a key, a range of keys, or the keys with a prefix to a role.

The permission type is read, write or readwrite. A range has its first key and the key after its last
one. With an empty key, --prefix and --from-key mean all keys.
)",
               .flags = RangeFlags("grant"),
               .argument_choices = {"read", "write", "readwrite"},
               .choices_at = 1,
               .run = GrantPermission},
              {.use = "revoke-permission <role name> <key> [endkey]",
               .brief = "Revokes a key from a role",
               .description =
                   R"(Revokes a permission from a role: the range must be one that was granted.
)",
               .flags = RangeFlags("revoke"),
               .run = RevokePermission},
          }};
}

}  // namespace kvorum::ctl
