#include <ostream>

#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"

namespace kvorum::ctl {
namespace {

Outcome<void> CheckNoArguments(const Invocation& invocation) {
  if (invocation.args.empty()) return {};
  return BadArguments("auth " + std::string(invocation.path.back()->name()) +
                      " command does not accept any arguments");
}

// Gives the user root the role root, which enabling auth requires.
Result<void> MakeRoot(client::Client& client, const client::CallOptions& call) {
  etcdserverpb::AuthRoleAddRequest role;
  role.set_name("root");
  KV_RETURN_IF_ERROR(client.RoleAdd(role, call));
  etcdserverpb::AuthUserGrantRoleRequest grant;
  grant.set_user("root");
  grant.set_role("root");
  KV_RETURN_IF_ERROR(client.UserGrantRole(grant, call));
  return {};
}

Result<void> EnableAuth(client::Client& client, const client::CallOptions& call) {
  const auto enabled = client.AuthEnable(call);
  if (enabled) return {};
  if (enabled.error().message != kErrRootRoleNotExist.message) return kvorum::Fail(enabled.error());
  KV_RETURN_IF_ERROR(MakeRoot(client, call));
  KV_RETURN_IF_ERROR(client.AuthEnable(call));
  return {};
}

Outcome<void> RunEnable(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckNoArguments(invocation));
  KV_TRY(const auto connected, Connect(invocation));
  KV_RETURN_IF_ERROR(EnableAuth(*connected.client, connected.session.Call()));
  invocation.world.out << "Authentication Enabled\n";
  return {};
}

Outcome<void> RunDisable(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckNoArguments(invocation));
  KV_TRY(const auto connected, Connect(invocation));
  KV_RETURN_IF_ERROR(connected.client->AuthDisable(connected.session.Call()));
  invocation.world.out << "Authentication Disabled\n";
  return {};
}

Outcome<void> RunAuthStatus(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckNoArguments(invocation));
  KV_TRY(const auto connected, Connect(invocation));
  KV_TRY(const auto status, connected.client->AuthStatus(connected.session.Call()));
  return connected.session.printer().AuthStatus(status);
}

}  // namespace

Command AuthCommand() {
  return {.use = "auth <enable or disable>",
          .brief =
              "Enable or disable authentication. Use `kvorumctl auth --help` to see "
              "subcommands",
          .description = "Enable or disable authentication",
          .group = kAuthenticationGroup,
          .children = {
              {.use = "enable",
               .brief = "Enables authentication",
               .description = R"(Enables authentication: from then on each request needs a user.

There must be a user root. It is given the role root, if it does not have it yet.
)",
               .run = RunEnable},
              {.use = "disable", .brief = "Disables authentication", .run = RunDisable},
              {.use = "status", .brief = "Returns authentication status", .run = RunAuthStatus},
          }};
}

}  // namespace kvorum::ctl
