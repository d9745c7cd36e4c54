// kvorumctl snapshot-server status: how a running server's subscribers are.
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/run/control_client.h"
#include "tools/run/long_run.h"
#include "tools/sync/snapshot_server.h"
#include "tools/sync/snapshot_status.h"

namespace kvorum::ctl {
namespace {

Outcome<void> RunSnapshotServerStatus(Invocation& invocation) {
  if (!invocation.args.empty()) return BadArguments("snapshot-server status takes no arguments");
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json", "table"}));
  std::vector<sync::NodeState> states;
  Outcome<void> read;
  const auto take = [&](const sync::Json& item) {
    auto state = ReadSnapshotStatusItem(item);
    if (!state) {
      read = Fail(ExitCode::kError,
                  "unexpected answer from the running command: " + state.error().message);
      return false;
    }
    states.push_back(*std::move(state));
    return true;
  };
  KV_TRY(const auto answer, AskControl(invocation.flags.String("socket"),
                                       {{"command", kSnapshotStatusCommand}}, {.on_item = take}));
  KV_RETURN_IF_ERROR(read);
  if (format == "json") {
    for (const auto& state : states)
      invocation.world.out << ControlText(SnapshotStatusItem(state)) << '\n';
    return {};
  }
  const Table table = SnapshotStatusTable(states);
  invocation.world.out << (format == "table" ? DrawTable(table) : JoinRows(table));
  return {};
}

}  // namespace

Command SnapshotServerStatusCommand() {
  return {
      .use = "status --socket <path>",
      .brief = "Shows the state of a snapshot server's subscribers",
      .description =
          R"(Asks a snapshot server that runs with --socket. For each node and type, shows the version of
the last response's set, its nonce, the nonce that was accepted last, that which was refused and why,
and the reason of the last pass that made the node's snapshot: event, resync or event_and_resync.
With -w json it shows an object a line for each node.
)",
      .flags = {SocketFlag()},
      .run = RunSnapshotServerStatus};
}

}  // namespace kvorum::ctl
