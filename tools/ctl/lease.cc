#include <fmt/format.h>

#include <chrono>
#include <ostream>
#include <thread>

#include "base/api_errors.h"
#include "base/text/go_number.h"
#include "client/error_text.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"

namespace kvorum::ctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The pause before a failed renewal is retried.
constexpr milliseconds kRenewalRetryPause(500);

Outcome<std::int64_t> LeaseArgument(const Invocation& invocation) {
  const auto id = ParseInt(invocation.args.front(), 16);
  if (id) return *id;
  return BadArguments("bad lease ID arg (" + id.error().message + "), expecting ID in Hex");
}

// An error of the server about a lease, prefixed with the command's text.
std::unexpected<Failure> FailTo(const char* what, const Error& error) {
  return Fail(ExitCode::kError, fmt::format("failed to {} ({})", what, client::ErrorText(error)));
}

// A failed request is reported as a connection that does not work.
std::unexpected<Failure> FailToAsk(const Error& error) {
  return Fail(ExitCode::kBadConnection, client::ErrorText(error));
}

Outcome<void> Grant(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "lease grant command needs TTL argument"));
  const auto ttl_s = ParseInt(invocation.args.front(), 10);
  if (!ttl_s) return BadArguments("bad TTL (" + ttl_s.error().message + ")");
  KV_TRY(const auto connected, Connect(invocation));
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(*ttl_s);
  const auto response = connected.client->LeaseGrant(request, connected.session.Call());
  if (!response) return FailTo("grant lease", response.error());
  return connected.session.printer().LeaseGrant(*response);
}

Outcome<void> Revoke(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "lease revoke command needs 1 argument"));
  KV_TRY(const auto id, LeaseArgument(invocation));
  KV_TRY(const auto connected, Connect(invocation));
  const auto response = connected.client->LeaseRevoke(id, connected.session.Call());
  if (!response) return FailTo("revoke lease", response.error());
  return connected.session.printer().LeaseRevoke(id, *response);
}

// This and the next two have no time-out.
Outcome<void> TimeToLive(Invocation& invocation) {
  KV_RETURN_IF_ERROR(
      CheckCount(invocation, 1, "lease timetolive command needs lease ID as argument"));
  KV_TRY(const auto id, LeaseArgument(invocation));
  KV_TRY(const auto connected, Connect(invocation));
  const bool keys = invocation.flags.Switch("keys");
  etcdserverpb::LeaseTimeToLiveRequest request;
  request.set_id(id);
  request.set_keys(keys);
  const auto response = connected.client->LeaseTimeToLive(request);
  if (!response) return FailToAsk(response.error());
  return connected.session.printer().LeaseTimeToLive(*response, keys);
}

Outcome<void> ListLeases(Invocation& invocation) {
  KV_TRY(const auto connected, Connect(invocation));
  const auto response = connected.client->LeaseLeases();
  if (!response) return FailToAsk(response.error());
  return connected.session.printer().LeaseList(*response);
}

// Renews the lease after each third of its time to live until it is gone, or was not renewed for
// all of it.
Outcome<void> KeepRenewing(Invocation& invocation, const Connected& connected, std::int64_t id) {
  auto expires = steady_clock::time_point::max();
  while (true) {
    const auto response = connected.client->LeaseKeepAliveOnce(id, {.deadline = expires});
    if (response && response->ttl() <= 0) break;
    if (!response) {
      if (steady_clock::now() + kRenewalRetryPause >= expires) break;
      std::this_thread::sleep_for(kRenewalRetryPause);
      continue;
    }
    KV_RETURN_IF_ERROR(connected.session.printer().LeaseKeepAlive(*response));
    invocation.world.out.flush();
    expires = steady_clock::now() + seconds(response->ttl());
    std::this_thread::sleep_for(milliseconds(seconds(response->ttl())) / 3);
  }
  if (connected.session.printer().format() == "simple") {
    invocation.world.out << fmt::format("lease {:016x} expired or revoked.\n", id);
  }
  return {};
}

Outcome<void> KeepAlive(Invocation& invocation) {
  KV_RETURN_IF_ERROR(
      CheckCount(invocation, 1, "lease keep-alive command needs lease ID as argument"));
  KV_TRY(const auto id, LeaseArgument(invocation));
  KV_TRY(const auto connected, Connect(invocation));
  if (!invocation.flags.Switch("once")) return KeepRenewing(invocation, connected, id);
  const auto response = connected.client->LeaseKeepAliveOnce(id);
  if (!response) return FailToAsk(response.error());
  if (response->ttl() <= 0)
    return Fail(ExitCode::kBadConnection, std::string(kErrLeaseNotFound.message));
  return connected.session.printer().LeaseKeepAlive(*response);
}

}  // namespace

Command LeaseCommand() {
  return {
      .use = "lease <subcommand>",
      .brief = "Lease related commands. Use `kvorumctl lease --help` to see subcommands",
      .description = "Lease related commands",
      .group = kKeyValueGroup,
      .children = {
          {.use = "grant <ttl>", .brief = "Creates leases", .run = Grant},
          {.use = "keep-alive [options] <leaseID>",
           .brief = "Keeps leases alive (renew)",
           .flags = {{.name = "once", .help = "renew once, show the new time to live, and exit"}},
           .run = KeepAlive},
          {.use = "list", .brief = "List all active leases", .run = ListLeases},
          {.use = "revoke <leaseID>", .brief = "Revokes leases", .run = Revoke},
          {.use = "timetolive <leaseID> [options]",
           .brief = "Get lease information",
           .flags = {{.name = "keys", .help = "show the keys attached to this lease too"}},
           .run = TimeToLive},
      }};
}

}  // namespace kvorum::ctl
