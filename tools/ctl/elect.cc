#include <ostream>

#include "client/election.h"
#include "client/lease_session.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/stop_signals.h"

namespace kvorum::ctl {
namespace {

Outcome<void> Listen(Invocation& invocation, Printer& printer, client::Client& client,
                     const std::stop_token& stop) {
  Outcome<void> shown;
  const auto ended =
      client::ObserveElection(client, invocation.args[0], stop,
                              [&](const etcdserverpb::RangeResponse& leader) -> Result<void> {
                                shown = printer.Get(leader);
                                invocation.world.out.flush();
                                if (shown) return {};
                                return kvorum::Fail(Code::kCanceled, "");
                              });
  if (!shown) return shown;
  if (!ended && !stop.stop_requested()) return Fail(ExitCode::kError, "elect: observer lost");
  return {};
}

Outcome<void> Campaign(Invocation& invocation, Printer& printer, client::Client& client,
                       const std::stop_token& stop) {
  KV_TRY(const auto lease, client::LeaseSession::Open(client, {}));
  client::Election election(*lease, invocation.args[0]);
  KV_RETURN_IF_ERROR(election.Campaign(invocation.args[1], stop));
  etcdserverpb::RangeRequest request;
  request.set_key(election.key());
  KV_TRY(const auto key, client.Range(request));
  auto shown = printer.Get(key);
  invocation.world.out.flush();
  if (shown && lease->WaitForEnd(stop)) return Fail(ExitCode::kError, "elect: session expired");
  const auto resigned = election.Resign();
  if (shown) KV_RETURN_IF_ERROR(resigned);
  return shown;
}

Outcome<void> RunElect(Invocation& invocation) {
  const bool listens = invocation.flags.Switch("listen");
  const std::size_t count = invocation.args.size();
  if (count != 1 && count != 2) {
    return BadArguments("elect takes one election name argument and an optional proposal argument");
  }
  if (count == 1 && !listens) return BadArguments("no proposal argument but -l not set");
  if (count == 2 && listens) return BadArguments("proposal given but -l is set");
  const StopSignals signals;
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  const auto act = listens ? Listen : Campaign;
  return act(invocation, session.printer(), *client, signals.token());
}

}  // namespace

Command ElectCommand() {
  return {
      .use = "elect <election-name> [proposal]",
      .brief = "Observes and participates in leader election",
      .description =
          R"(Campaigns with the proposal, shows its key once it is elected, and leads until it is interrupted.

With --listen, shows each leader's key and what it proclaims.
)",
      .group = kConcurrencyGroup,
      .flags = {{.name = "listen", .help = "observation mode", .shorthand = 'l'}},
      .run = RunElect};
}

}  // namespace kvorum::ctl
