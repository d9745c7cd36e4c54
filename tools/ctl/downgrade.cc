#include <ostream>

#include "client/client.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"

namespace kvorum::ctl {
namespace {

using etcdserverpb::DowngradeRequest;

Outcome<void> AskDowngrade(Invocation& invocation, DowngradeRequest::DowngradeAction action,
                           const std::string& version) {
  KV_TRY(const auto connected, Connect(invocation));
  DowngradeRequest request;
  request.set_action(action);
  request.set_version(version);
  KV_TRY(const auto response, connected.client->Downgrade(request, connected.session.Call()));
  return connected.session.printer().Downgrade(std::string(invocation.path.back()->name()),
                                               response);
}

Outcome<void> AskWithTarget(Invocation& invocation, DowngradeRequest::DowngradeAction action) {
  if (invocation.args.empty()) return BadArguments("TARGET_VERSION not provided");
  if (invocation.args.size() > 1) return BadArguments("too many arguments");
  if (invocation.args.front().empty()) return BadArguments("target version not provided");
  return AskDowngrade(invocation, action, invocation.args.front());
}

// etcd's leader ends a downgrade once all members have the version; one of kvorum, which has no
// older version of itself, cannot.
Outcome<void> EnableDowngrade(Invocation& invocation) {
  KV_RETURN_IF_ERROR(AskWithTarget(invocation, DowngradeRequest::ENABLE));
  invocation.world.err << "A leader of kvorum does not end a downgrade by itself: only `downgrade "
                          "cancel` ends it.\n";
  return {};
}

}  // namespace

Command DowngradeCommand() {
  return {
      .use = "downgrade <TARGET_VERSION>",
      .brief = "Downgrade related commands. Use `kvorumctl downgrade --help` to see subcommands",
      .description = "Downgrade related commands",
      .group = kClusterGroup,
      .children = {
          {.use = "validate <TARGET_VERSION>",
           .brief = "Asks if the cluster could be downgraded to the version, and changes nothing",
           .run = [](Invocation& i) { return AskWithTarget(i, DowngradeRequest::VALIDATE); }},
          {.use = "enable <TARGET_VERSION>",
           .brief = "Starts a downgrade of the cluster to the version",
           .run = EnableDowngrade},
          {.use = "cancel",
           .brief = "Cancels the downgrade that is under way",
           .run = [](Invocation& i) { return AskDowngrade(i, DowngradeRequest::CANCEL, ""); }},
      }};
}

}  // namespace kvorum::ctl
