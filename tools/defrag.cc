#include <fmt/format.h>

#include <chrono>
#include <ostream>

#include "base/duration_text.h"
#include "client/error_text.h"
#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

Outcome<void> Run(Invocation& invocation) {
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto endpoints = session->Endpoints();
  if (!endpoints) return std::unexpected(endpoints.error());
  bool failed = false;
  for (const std::string& endpoint : *endpoints) {
    const auto client = session->ConnectTo(endpoint);
    if (!client) return std::unexpected(client.error());
    const auto start = std::chrono::steady_clock::now();
    const auto response = (*client)->Defragment(session->Call());
    const std::string took = FormatDuration(std::chrono::steady_clock::now() - start);
    if (response) {
      invocation.world.out << fmt::format("Finished defragmenting etcd member[{}]. took {}\n",
                                          endpoint, took);
    } else {
      failed = true;
      invocation.world.err << fmt::format("Failed to defragment etcd member[{}]. took {}. ({})\n",
                                          endpoint, took, client::ErrorText(response.error()));
    }
  }
  if (failed) return Fail(ExitCode::kError, "");
  return {};
}

}  // namespace

Command DefragCommand() {
  return {.use = "defrag",
          .brief = "Defragments the storage of the members with given endpoints",
          .group = kClusterGroup,
          .inherited_flags = {ClusterFlag()},
          .run = Run};
}

}  // namespace kvorum::ctl
