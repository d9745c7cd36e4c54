#include <chrono>
#include <ostream>
#include <thread>

#include "base/go_quote.h"
#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/kv_requests.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

// A range given by two bare keys is easily a typing mistake: leave time to interrupt.
void WarnOfRange(const Invocation& invocation) {
  if (invocation.args.size() < 2 || invocation.flags.Switch("range")) return;
  invocation.world.err << "Warning: Keys between " << GoQuote(invocation.args[0]) << " and "
                       << GoQuote(invocation.args[1])
                       << " will be deleted. Please interrupt the command within next 2 seconds to "
                          "cancel. You can provide `--range` flag to avoid the delay.\n"
                       << std::flush;
  std::this_thread::sleep_for(std::chrono::seconds(2));
}

Outcome<void> Run(Invocation& invocation) {
  const auto request = MakeDelete(invocation.flags, invocation.args);
  if (!request) return std::unexpected(request.error());
  WarnOfRange(invocation);
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  const auto response = (*client)->DeleteRange(*request, session->Call());
  if (!response) return FailWith(response.error());
  return session->printer().Delete(*response);
}

}  // namespace

Command DelCommand() {
  return {.use = "del [options] <key> [range_end]",
          .brief = "Removes the specified key or range of keys [key, range_end)",
          .group = kKeyValueGroup,
          .flags = DeleteFlags(),
          .run = Run};
}

}  // namespace kvorum::ctl
