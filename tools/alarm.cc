#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

using AlarmCall =
    Result<etcdserverpb::AlarmResponse> (client::Client::*)(const client::CallOptions&);

Outcome<void> Run(Invocation& invocation, AlarmCall method) {
  if (!invocation.args.empty())
    return Fail(ExitCode::kBadArguments, "alarm " + std::string(invocation.path.back()->name()) +
                                             " command accepts no arguments");
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  const auto response = (**client.*method)(session->Call());
  if (!response) return FailWith(response.error());
  return session->printer().Alarm(*response);
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
               .run = [](Invocation& i) { return Run(i, &client::Client::AlarmDisarmAll); }},
              {.use = "list",
               .brief = "Lists all alarms",
               .run = [](Invocation& i) { return Run(i, &client::Client::AlarmList); }},
          }};
}

}  // namespace kvorum::ctl
