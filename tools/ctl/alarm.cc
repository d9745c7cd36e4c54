#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"

namespace kvorum::ctl {
namespace {

using AlarmCall =
    Result<etcdserverpb::AlarmResponse> (client::Client::*)(const client::CallOptions&);

Outcome<void> RunAlarm(Invocation& invocation, AlarmCall method) {
  if (!invocation.args.empty())
    return BadArguments("alarm " + std::string(invocation.path.back()->name()) +
                        " command accepts no arguments");
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  KV_TRY(const auto response, (*client.*method)(session.Call()));
  return session.printer().Alarm(response);
}

}  // namespace

Command AlarmCommand() {
  return {.use = "alarm <subcommand>",
          .brief = "Alarm related commands. Use `kvorumctl alarm --help` to see subcommands",
          .description = "Alarm related commands",
          .group = kClusterGroup,
          .children = {
              {.use = "disarm",
               .brief = "Disarms all alarms",
               .run = [](Invocation& i) { return RunAlarm(i, &client::Client::AlarmDisarmAll); }},
              {.use = "list",
               .brief = "Lists all alarms",
               .run = [](Invocation& i) { return RunAlarm(i, &client::Client::AlarmList); }},
          }};
}

}  // namespace kvorum::ctl
