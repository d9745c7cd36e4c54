#include <fmt/format.h>

#include <ostream>

#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/password.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

Outcome<void> CheckCount(const Invocation& invocation, std::size_t count, const char* refusal) {
  if (invocation.args.size() == count) return {};
  return Fail(ExitCode::kBadArguments, refusal);
}

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
    auto password = NewPassword(invocation);
    if (!password) return std::unexpected(password.error());
    request.set_password(*std::move(password));
  } else {
    if (colon == 0) return Fail(ExitCode::kBadArguments, "empty user name is not allowed");
    request.set_name(argument.substr(0, colon));
    request.set_password(argument.substr(colon + 1));
  }
  return request;
}

// These have no time-out: hashing a password may take long.
Outcome<void> Add(Invocation& invocation) {
  constexpr const char* kRefusal = "user add command requires user name as its argument";
  if (auto one = CheckCount(invocation, 1, kRefusal); !one) return one;
  const auto request = UserToAdd(invocation);
  if (!request) return std::unexpected(request.error());
  const auto connected = Connect(invocation);
  if (!connected) return std::unexpected(connected.error());
  const auto response = connected->client->UserAdd(*request, connected->session.Call());
  if (!response) return FailWith(response.error());
  return connected->session.printer().AuthChanged(fmt::format("User {} created", request->name()),
                                                  response->header(), *response);
}

Outcome<void> Delete(Invocation& invocation) {
  constexpr const char* kRefusal = "user delete command requires user name as its argument";
  if (auto one = CheckCount(invocation, 1, kRefusal); !one) return one;
  const auto connected = Connect(invocation);
  if (!connected) return std::unexpected(connected.error());
  etcdserverpb::AuthUserDeleteRequest request;
  request.set_name(invocation.args.front());
  const auto response = connected->client->UserDelete(request, connected->session.Call());
  if (!response) return FailWith(response.error());
  return connected->session.printer().AuthChanged(fmt::format("User {} deleted", request.name()),
                                                  response->header(), *response);
}

// Shows each role's permissions, in the role's own form.
Outcome<void> ShowDetail(const Connected& connected, const std::string& name,
                         const etcdserverpb::AuthUserGetResponse& user, std::ostream& out) {
  out << "User: " << name << '\n';
  for (const std::string& role : user.roles()) {
    out << '\n';
    etcdserverpb::AuthRoleGetRequest request;
    request.set_role(role);
    const auto response = connected.client->RoleGet(request, connected.session.Call());
    if (!response) return FailWith(response.error());
    if (auto shown = connected.session.printer().RoleGet(role, *response); !shown) return shown;
  }
  return {};
}

Outcome<void> Get(Invocation& invocation) {
  constexpr const char* kRefusal = "user get command requires user name as its argument";
  if (auto one = CheckCount(invocation, 1, kRefusal); !one) return one;
  const auto connected = Connect(invocation);
  if (!connected) return std::unexpected(connected.error());
  const std::string& name = invocation.args.front();
  etcdserverpb::AuthUserGetRequest request;
  request.set_name(name);
  const auto response = connected->client->UserGet(request, connected->session.Call());
  if (!response) return FailWith(response.error());
  if (invocation.flags.Switch("detail"))
    return ShowDetail(*connected, name, *response, invocation.world.out);
  return connected->session.printer().UserGet(name, *response);
}

Outcome<void> List(Invocation& invocation) {
  if (auto none = CheckCount(invocation, 0, "user list command requires no arguments"); !none)
    return none;
  const auto connected = Connect(invocation);
  if (!connected) return std::unexpected(connected.error());
  const auto response = connected->client->UserList(connected->session.Call());
  if (!response) return FailWith(response.error());
  return connected->session.printer().UserList(*response);
}

Outcome<void> ChangePassword(Invocation& invocation) {
  constexpr const char* kRefusal = "user passwd command requires user name as its argument";
  if (auto one = CheckCount(invocation, 1, kRefusal); !one) return one;
  auto password = NewPassword(invocation);
  if (!password) return std::unexpected(password.error());
  const auto connected = Connect(invocation);
  if (!connected) return std::unexpected(connected.error());
  etcdserverpb::AuthUserChangePasswordRequest request;
  request.set_name(invocation.args.front());
  request.set_password(*std::move(password));
  const auto response = connected->client->UserChangePassword(request, connected->session.Call());
  if (!response) return FailWith(response.error());
  return connected->session.printer().AuthChanged("Password updated", response->header(),
                                                  *response);
}

Outcome<void> GrantRole(Invocation& invocation) {
  constexpr const char* kRefusal =
      "user grant command requires user name and role name as its argument";
  if (auto two = CheckCount(invocation, 2, kRefusal); !two) return two;
  const auto connected = Connect(invocation);
  if (!connected) return std::unexpected(connected.error());
  etcdserverpb::AuthUserGrantRoleRequest request;
  request.set_user(invocation.args[0]);
  request.set_role(invocation.args[1]);
  const auto response = connected->client->UserGrantRole(request, connected->session.Call());
  if (!response) return FailWith(response.error());
  return connected->session.printer().AuthChanged(
      fmt::format("Role {} is granted to user {}", request.role(), request.user()),
      response->header(), *response);
}

Outcome<void> RevokeRole(Invocation& invocation) {
  constexpr const char* kRefusal =
      "user revoke-role requires user name and role name as its argument";
  if (auto two = CheckCount(invocation, 2, kRefusal); !two) return two;
  const auto connected = Connect(invocation);
  if (!connected) return std::unexpected(connected.error());
  etcdserverpb::AuthUserRevokeRoleRequest request;
  request.set_name(invocation.args[0]);
  request.set_role(invocation.args[1]);
  const auto response = connected->client->UserRevokeRole(request, connected->session.Call());
  if (!response) return FailWith(response.error());
  return connected->session.printer().AuthChanged(
      fmt::format("Role {} is revoked from user {}", request.role(), request.name()),
      response->header(), *response);
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
                     {.name = "new-user-password",
                      .type = FlagType::kString,
                      .help = "the password (others on this machine can see it while the command "
                              "runs)"},
                     {.name = "no-password",
                      .help = "the user has no password: only a client certificate with its name "
                              "can log in"}},
           .run = Add},
          {.use = "delete <user name>", .brief = "Deletes a user", .run = Delete},
          {.use = "get <user name> [options]",
           .brief = "Gets detailed information of a user",
           .flags = {{.name = "detail", .help = "show what each of the user's roles permits"}},
           .run = Get},
          {.use = "list", .brief = "Lists all users", .run = List},
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
