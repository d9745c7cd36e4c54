#include <ostream>

#include "client/election.h"
#include "client/lease_session.h"
#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/session.h"
#include "tools/stop_signals.h"

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
  const auto lease = client::LeaseSession::Open(client, {});
  if (!lease) return FailWith(lease.error());
  client::Election election(**lease, invocation.args[0]);
  if (const auto elected = election.Campaign(invocation.args[1], stop); !elected)
    return FailWith(elected.error());
  etcdserverpb::RangeRequest request;
  request.set_key(election.key());
  const auto key = client.Range(request);
  if (!key) return FailWith(key.error());
  auto shown = printer.Get(*key);
  invocation.world.out.flush();
  if (shown && (*lease)->WaitForEnd(stop)) return Fail(ExitCode::kError, "elect: session expired");
  const auto resigned = election.Resign();
  if (shown && !resigned) return FailWith(resigned.error());
  return shown;
}

Outcome<void> Run(Invocation& invocation) {
  const bool listens = invocation.flags.Switch("listen");
  const std::size_t count = invocation.args.size();
  if (count != 1 && count != 2) {
    return Fail(ExitCode::kBadArguments,
                "elect takes one election name argument and an optional proposal argument");
  }
  if (count == 1 && !listens)
    return Fail(ExitCode::kBadArguments, "no proposal argument but -l not set");
  if (count == 2 && listens) return Fail(ExitCode::kBadArguments, "proposal given but -l is set");
  const StopSignals signals;
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  const auto act = listens ? Listen : Campaign;
  return act(invocation, session->printer(), **client, signals.token());
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
      .flags = {{.name = "listen", .shorthand = 'l', .help = "observation mode"}},
      .run = Run};
}

}  // namespace kvorum::ctl
