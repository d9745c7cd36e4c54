#include <fmt/format.h>

#include "base/go_number.h"
#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

// Asks the first of the given endpoints whose member says that it leads.
Outcome<void> Run(Invocation& invocation) {
  if (invocation.args.size() != 1)
    return Fail(ExitCode::kBadArguments, "move-leader command needs 1 argument");
  const auto target = ParseUint(invocation.args.front(), 16);
  if (!target) return Fail(ExitCode::kBadArguments, target.error().message);
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto endpoints = session->Endpoints();
  if (!endpoints) return std::unexpected(endpoints.error());
  const client::CallOptions call = session->Call();
  for (const std::string& endpoint : *endpoints) {
    const auto client = session->ConnectTo(endpoint);
    if (!client) return std::unexpected(client.error());
    const auto status = (*client)->Status(call);
    if (!status) return FailWith(status.error());
    if (status->header().member_id() != status->leader()) continue;
    etcdserverpb::MoveLeaderRequest request;
    request.set_targetid(*target);
    const auto moved = (*client)->MoveLeader(request, call);
    if (!moved) return FailWith(moved.error());
    return session->printer().MoveLeader(status->leader(), *target, *moved);
  }
  return Fail(ExitCode::kBadArguments,
              fmt::format("no leader endpoint given at [{}]", fmt::join(*endpoints, " ")));
}

}  // namespace

Command MoveLeaderCommand() {
  return {.use = "move-leader <transferee-member-id>",
          .brief = "Transfers leadership to another etcd cluster member.",
          .group = kClusterGroup,
          .run = Run};
}

}  // namespace kvorum::ctl
