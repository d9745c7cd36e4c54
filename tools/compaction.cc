#include <ostream>

#include "base/go_number.h"
#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

Outcome<void> Run(Invocation& invocation) {
  if (invocation.args.size() != 1)
    return Fail(ExitCode::kBadArguments, "compaction command needs 1 argument");
  const auto revision = ParseInt(invocation.args.front(), 10);
  if (!revision) return Fail(ExitCode::kError, revision.error().message);
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  etcdserverpb::CompactionRequest request;
  request.set_revision(*revision);
  request.set_physical(invocation.flags.Switch("physical"));
  const auto response = (*client)->Compact(request, session->Call());
  if (!response) return FailWith(response.error());
  invocation.world.out << "compacted revision " << *revision << '\n';
  return {};
}

}  // namespace

Command CompactionCommand() {
  return {.use = "compaction [options] <revision>",
          .brief = "Compacts the event history in the store",
          .group = kKeyValueGroup,
          .flags = {{.name = "physical",
                     .help = "wait until the old revisions are gone from the database"}},
          .run = Run};
}

}  // namespace kvorum::ctl
