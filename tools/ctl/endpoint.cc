#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <ostream>
#include <thread>

#include "base/api_errors.h"
#include "base/text/duration_text.h"
#include "client/error_text.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/endpoint_answers.h"
#include "tools/session/printer.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"

namespace kvorum::ctl {
namespace {

using client::ErrorText;

std::string ActiveAlarms(const etcdserverpb::AlarmResponse& alarms) {
  std::string text = "Active Alarm(s): ";
  for (const etcdserverpb::AlarmMember& alarm : alarms.alarms()) {
    switch (alarm.alarm()) {
      case etcdserverpb::NOSPACE:
        text += "NOSPACE ";
        break;
      case etcdserverpb::CORRUPT:
        text += "CORRUPT ";
        break;
      default:  // proto3 enums are open: a newer server may know more
        text += "UNKNOWN ";
        break;
    }
  }
  return text;
}

// An endpoint is healthy if a linearizable read gets an answer and no alarm is raised. A refusal
// for lack of permission is an answer too: it took a quorum to give it.
EndpointHealth CheckHealth(const Session& session, const std::string& endpoint) {
  EndpointHealth health{.endpoint = endpoint};
  const auto client = session.ConnectTo(endpoint);
  if (!client) {
    health.error = client.error().message;
    return health;
  }
  const client::CallOptions call = session.Call();
  const auto start = std::chrono::steady_clock::now();
  etcdserverpb::RangeRequest request;
  request.set_key("health");
  const auto read = (*client)->Range(request, call);
  health.took = FormatDuration(std::chrono::steady_clock::now() - start);
  if (!read && read.error().message != kErrPermissionDenied.message) {
    health.error = ErrorText(read.error());
    return health;
  }
  const auto alarms = (*client)->AlarmList(call);
  if (!alarms)
    health.error = "Unable to fetch the alarm list";
  else if (alarms->alarms_size() > 0)
    health.error = ActiveAlarms(*alarms);
  health.healthy = health.error.empty();
  return health;
}

Outcome<void> RunHealth(Invocation& invocation) {
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto endpoints, session.Endpoints());

  // In the order of the answers.
  std::mutex mutex;
  std::vector<EndpointHealth> results;
  {
    std::vector<std::jthread> checks;
    for (const std::string& endpoint : endpoints)
      checks.emplace_back([&] {
        EndpointHealth health = CheckHealth(session, endpoint);
        const std::lock_guard lock(mutex);
        results.push_back(std::move(health));
      });
  }
  KV_RETURN_IF_ERROR(session.printer().Health(results));
  for (const EndpointHealth& health : results)
    if (!health.error.empty()) return Fail(ExitCode::kError, "unhealthy cluster");
  return {};
}

// Asks each endpoint separately and shows the answers; endpoints without an answer are named on the
// error stream. Returns the last error.
template <class Item, class Ask>
Outcome<std::string> AskEach(Invocation& invocation, std::string_view what, const Ask& ask,
                             Outcome<void> (Printer::*show)(const std::vector<Item>&)) {
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto endpoints, session.Endpoints());
  std::vector<Item> answers;
  std::string last_error;
  for (const std::string& endpoint : endpoints) {
    KV_TRY(const auto client, session.ConnectTo(endpoint));
    auto answer = ask(*client, session.Call());
    if (answer) {
      answers.push_back({endpoint, *std::move(answer)});
    } else {
      last_error = ErrorText(answer.error());
      invocation.world.err << "Failed to get the " << what << " of endpoint " << endpoint << " ("
                           << last_error << ")\n";
    }
  }
  KV_RETURN_IF_ERROR((session.printer().*show)(answers));
  return last_error;
}

Outcome<void> RunEndpointStatus(Invocation& invocation) {
  const auto ask = [](client::Client& client, const client::CallOptions& call) {
    return client.Status(call);
  };
  KV_TRY(const auto error, AskEach(invocation, "status", ask, &Printer::Status));
  if (!error.empty()) return Fail(ExitCode::kError, "");
  return {};
}

Outcome<void> RunHashKV(Invocation& invocation) {
  etcdserverpb::HashKVRequest request;
  request.set_revision(invocation.flags.Int("rev"));
  const auto ask = [&](client::Client& client, const client::CallOptions& call) {
    return client.HashKV(request, call);
  };
  KV_TRY(const auto error, AskEach(invocation, "hash", ask, &Printer::HashKV));
  if (!error.empty()) return Fail(ExitCode::kError, error);
  return {};
}

Outcome<void> RunEndpointsDefrag(Invocation& invocation) {
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto endpoints, session.Endpoints());
  bool failed = false;
  for (const std::string& endpoint : endpoints) {
    KV_TRY(const auto client, session.ConnectTo(endpoint));
    const auto start = std::chrono::steady_clock::now();
    const auto response = client->Defragment(session.Call());
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

Command EndpointCommand() {
  return {.use = "endpoint <subcommand>",
          .brief = "Endpoint related commands. Use `kvorumctl endpoint --help` to see subcommands",
          .description = "Endpoint related commands",
          .group = kClusterGroup,
          .inherited_flags = {ClusterFlag()},
          .children = {
              {.use = "health",
               .brief = "Checks the healthiness of endpoints specified in `--endpoints` flag",
               .run = RunHealth},
              {.use = "status",
               .brief = "Prints out the status of endpoints specified in `--endpoints` flag",
               .description = R"(Prints out the status of endpoints specified in `--endpoints` flag.

In the simple format each line is an endpoint: endpoint, ID, version, storage version, db size, in
use, percentage not in use, quota, is leader, is learner, raft term, raft index, raft applied index,
errors, downgrade target version, downgrade enabled.
)",
               .run = RunEndpointStatus},
              {.use = "hashkv",
               .brief = "Prints the KV history hash for each endpoint in --endpoints",
               .flags = {{"rev", FlagType::kInt, "0",
                          "hash the history up to this revision (0: all of it)"}},
               .run = RunHashKV},
          }};
}

Command DefragCommand() {
  return {.use = "defrag",
          .brief = "Defragments the storage of the members with given endpoints",
          .group = kClusterGroup,
          .inherited_flags = {ClusterFlag()},
          .run = RunEndpointsDefrag};
}

}  // namespace kvorum::ctl
