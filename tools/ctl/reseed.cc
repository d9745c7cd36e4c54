// kvorumctl member reseed: a member whose database is wrong gets its leader's.
#include <fmt/format.h>

#include <chrono>

#include "base/text/duration_text.h"
#include "client/client.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/session.h"

namespace kvorum::ctl {
namespace {

// A database of many gigabytes takes its time; the command may be repeated.
constexpr std::chrono::hours kLongest{1};

Outcome<void> RunReseed(Invocation& invocation) {
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto endpoints, session.Endpoints());
  if (endpoints.size() != 1)
    return BadArguments("member reseed needs the one endpoint of the member to be re-seeded");
  KV_TRY(const auto client, session.ConnectTo(endpoints.front()));
  const auto start = std::chrono::steady_clock::now();
  KV_TRY(const auto status, client->Status(session.Call()));
  KV_RETURN_IF_ERROR(client->Reseed(client::CallOptions::Within(kLongest)));
  invocation.world.out << fmt::format("Member {:x} has a new database from its leader. took {}\n",
                                      status.header().member_id(),
                                      FormatDuration(std::chrono::steady_clock::now() - start));
  return {};
}

}  // namespace

Command MemberReseedCommand() {
  return {.use = "reseed",
          .brief = "Replaces the database of the member at --endpoints by a copy of its leader's",
          .description = R"(Replaces the database of one member by a copy of its leader's.

The member at --endpoints keeps its place in the cluster and goes on running, as do the others. It serves
again once it has the copy. Interrupted, the command may be run again.
)",
          .run = RunReseed};
}

}  // namespace kvorum::ctl
