#include <fmt/format.h>

#include <ostream>

#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/password.h"

namespace kvorum::ctl {
namespace {

Outcome<std::string> NewPassword(Invocation& invocation) {
  if (!invocation.flags.Switch("interactive")) return ReadPassword(invocation.world);
  return AskNewPassword(invocation.args.front(), invocation.world);
}

// The user to add: from NAME:PASSWORD, or with the password from a flag or a prompt.
Outcome<etcdserverpb::AuthUserAddRequest> UserToAdd(Invocation& invocation) {
  const std::string& argument = invocation.args.front();
  etcdserverpb::AuthUserAddRequest request;
  request.set_name(argument);
  request.mutable_options();
  if (invocation.flags.Switch("no-password")) {
    request.mutable_options()->set_no_password(true);
    return request;
  }
  const std::string& from_flag = invocation.flags.String("new-user-password");
  const std::size_t colon = argument.find(':');
  if (!from_flag.empty()) {
    request.set_password(from_flag);
  } else if (colon == std::string::npos) {
    KV_TRY(auto password, NewPassword(invocation));
    request.set_password(std::move(password));
  } else {
    if (colon == 0) return BadArguments("empty user name is not allowed");
    request.set_name(argument.substr(0, colon));
    request.set_password(argument.substr(colon + 1));
  }
  return request;
}

Outcome<void> AddUser(Invocation& invocation) {
  KV_RETURN_IF_ERROR(NameArgument(invocation));
  KV_TRY(const auto request, UserToAdd(invocation));
  return ChangeAuth(invocation, &client::Client::UserAdd, request,
                    fmt::format("User {} created", request.name()));
}

Outcome<void> DeleteUser(Invocation& invocation) {
  etcdserverpb::AuthUserDeleteRequest request;
  KV_TRY(*request.mutable_name(), NameArgument(invocation));
  return ChangeAuth(invocation, &client::Client::UserDelete, request,
                    fmt::format("User {} deleted", request.name()));
}

// Shows each role's permissions, in the role's own form.
Outcome<void> ShowDetail(const Connected& connected, const std::string& name,
                         const etcdserverpb::AuthUserGetResponse& user, std::ostream& out) {
  out << "User: " << name << '\n';
  for (const std::string& role : user.roles()) {
    out << '\n';
    etcdserverpb::AuthRoleGetRequest request;
    request.set_role(role);
    KV_TRY(const auto response, connected.client->RoleGet(request, connected.session.Call()));
    KV_RETURN_IF_ERROR(connected.session.printer().RoleGet(role, response));
  }
  return {};
}

Outcome<void> GetUser(Invocation& invocation) {
  etcdserverpb::AuthUserGetRequest request;
  KV_TRY(*request.mutable_name(), NameArgument(invocation));
  KV_TRY(const auto connected, Connect(invocation));
  KV_TRY(const auto response, connected.client->UserGet(request, connected.session.Call()));
  if (invocation.flags.Switch("detail"))
    return ShowDetail(connected, request.name(), response, invocation.world.out);
  return connected.session.printer().UserGet(request.name(), response);
}

Outcome<void> ListUsers(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "user list command requires no arguments"));
  KV_TRY(const auto connected, Connect(invocation));
  KV_TRY(const auto response, connected.client->UserList(connected.session.Call()));
  return connected.session.printer().UserList(response);
}

Outcome<void> ChangePassword(Invocation& invocation) {
  etcdserverpb::AuthUserChangePasswordRequest request;
  KV_TRY(*request.mutable_name(), NameArgument(invocation));
  KV_TRY(*request.mutable_password(), NewPassword(invocation));
  return ChangeAuth(invocation, &client::Client::UserChangePassword, request, "Password updated");
}

Outcome<void> GrantRole(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(
      invocation, 2, "user grant command requires user name and role name as its argument"));
  etcdserverpb::AuthUserGrantRoleRequest request;
  request.set_user(invocation.args[0]);
  request.set_role(invocation.args[1]);
  return ChangeAuth(invocation, &client::Client::UserGrantRole, request,
                    fmt::format("Role {} is granted to user {}", request.role(), request.user()));
}

Outcome<void> RevokeRole(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(
      invocation, 2, "user revoke-role requires user name and role name as its argument"));
  etcdserverpb::AuthUserRevokeRoleRequest request;
  request.set_name(invocation.args[0]);
  request.set_role(invocation.args[1]);
  return ChangeAuth(invocation, &client::Client::UserRevokeRole, request,
                    fmt::format("Role {} is revoked from user {}", request.role(), request.name()));
}

Flag InteractiveFlag() {
  return {.name = "interactive",
          .default_value = "true",
          .help = "ask for the password twice; if false, read one line of the standard input"};
}

}  // namespace

Command UserCommand() {
  return {
      .use = "user <subcommand>",
      .brief = "User related commands. Use `kvorumctl user --help` to see subcommands",
      .description = "User related commands",
      .group = kAuthenticationGroup,
      .children = {
          {.use = "add <user name or user:password> [options]",
           .brief = "Adds a new user",
           .flags = {InteractiveFlag(),
                     {"new-user-password", FlagType::kString, "",
                      "the password (others on this machine can see it while the command "
                      "runs)"},
                     {.name = "no-password",
                      .help = "the user has no password: only a client certificate with its name "
                              "can log in"}},
           .run = AddUser},
          {.use = "delete <user name>", .brief = "Deletes a user", .run = DeleteUser},
          {.use = "get <user name> [options]",
           .brief = "Gets detailed information of a user",
           .flags = {{.name = "detail", .help = "show what each of the user's roles permits"}},
           .run = GetUser},
          {.use = "list", .brief = "Lists all users", .run = ListUsers},
          {.use = "passwd <user name> [options]",
           .brief = "Changes password of user",
           .flags = {InteractiveFlag()},
           .run = ChangePassword},
          {.use = "grant-role <user name> <role name>",
           .brief = "Grants a role to a user",
           .run = GrantRole},
          {.use = "revoke-role <user name> <role name>",
           .brief = "Revokes a role from a user",
           .run = RevokeRole},
      }};
}

}  // namespace kvorum::ctl
