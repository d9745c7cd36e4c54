#include <fmt/format.h>

#include <ostream>

#include "base/letter_case.h"
#include "base/net/url.h"
#include "base/text/go_number.h"
#include "base/text/go_quote.h"
#include "base/words.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/kv_requests.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"

namespace kvorum::ctl {
namespace {

Outcome<std::vector<std::string>> PeerUrls(const Invocation& invocation) {
  const std::string& urls = invocation.flags.String("peer-urls");
  if (urls.empty()) return BadArguments("member peer urls not provided");
  const auto split = Split(urls, ',');
  // The server's answer would not say which of them is invalid.
  for (const std::string_view url : split) {
    if (const auto parsed = Url::Parse(url); !parsed.has_value())
      return Fail(ExitCode::kError, parsed.error().message);
  }
  return std::vector<std::string>(split.begin(), split.end());
}

Outcome<std::uint64_t> MemberIdArgument(const Invocation& invocation) {
  if (invocation.args.size() != 1) return BadArguments("member ID is not provided");
  const auto id = ParseUint(invocation.args.front(), 16);
  if (!id) {
    return BadArguments("bad member ID arg (" + id.error().message + "), expecting ID in Hex");
  }
  return *id;
}

Outcome<std::string> NewName(const Invocation& invocation) {
  const auto& args = invocation.args;
  if (args.empty()) return BadArguments("member name not provided");
  if (args.size() == 1) return args.front();
  std::string error = "too many arguments";
  for (const std::string& arg : args) {
    if (EqualsInAnyCase(arg.substr(0, 4), "http")) error += ", did you mean --peer-urls=" + arg;
  }
  return BadArguments(error);
}

// Prints the variables with which to start the new member.
void PrintStartVariables(std::ostream& out, const std::string& name, const std::string& urls,
                         const etcdserverpb::MemberAddResponse& response) {
  std::string cluster;
  for (const etcdserverpb::Member& member : response.members()) {
    for (const std::string& url : member.peerurls()) {
      cluster += cluster.empty() ? "" : ",";
      cluster += (member.id() == response.member().id() ? name : member.name()) + "=" + url;
    }
  }
  out << "\nETCD_NAME=" << GoQuote(name) << "\nETCD_INITIAL_CLUSTER=" << GoQuote(cluster)
      << "\nETCD_INITIAL_ADVERTISE_PEER_URLS=" << GoQuote(urls)
      << "\nETCD_INITIAL_CLUSTER_STATE=\"existing\"\n";
}

Outcome<void> RunAdd(Invocation& invocation) {
  KV_TRY(const auto name, NewName(invocation));
  KV_TRY(const auto urls, PeerUrls(invocation));
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  etcdserverpb::MemberAddRequest request;
  request.mutable_peerurls()->Assign(urls.begin(), urls.end());
  request.set_islearner(invocation.flags.Switch("learner"));
  KV_TRY(const auto response, client->MemberAdd(request, session.Call()));
  KV_RETURN_IF_ERROR(session.printer().MemberAdd(response));
  if (session.printer().format() == "simple") {
    PrintStartVariables(invocation.world.out, name, invocation.flags.String("peer-urls"), response);
  }
  return {};
}

// Sends the request with the id on the line.
template <class Request, class Response>
Outcome<void> RunOnMember(Invocation& invocation, Request request,
                          Result<Response> (client::Client::*method)(const Request&,
                                                                     const client::CallOptions&),
                          Outcome<void> (Printer::*show)(std::uint64_t, const Response&)) {
  KV_TRY(const std::uint64_t id, MemberIdArgument(invocation));
  request.set_id(id);
  KV_TRY(const auto connected, Connect(invocation));
  KV_TRY(const Response response, (*connected.client.*method)(request, connected.session.Call()));
  return (connected.session.printer().*show)(id, response);
}

Outcome<void> RunRemove(Invocation& invocation) {
  return RunOnMember(invocation, etcdserverpb::MemberRemoveRequest(), &client::Client::MemberRemove,
                     &Printer::MemberRemove);
}

Outcome<void> RunUpdate(Invocation& invocation) {
  KV_RETURN_IF_ERROR(MemberIdArgument(invocation));
  KV_TRY(const auto urls, PeerUrls(invocation));
  etcdserverpb::MemberUpdateRequest request;
  request.mutable_peerurls()->Assign(urls.begin(), urls.end());
  return RunOnMember(invocation, request, &client::Client::MemberUpdate, &Printer::MemberUpdate);
}

Outcome<void> RunPromote(Invocation& invocation) {
  return RunOnMember(invocation, etcdserverpb::MemberPromoteRequest(),
                     &client::Client::MemberPromote, &Printer::MemberPromote);
}

Outcome<void> RunList(Invocation& invocation) {
  KV_TRY(const auto serializable, IsSerializable(invocation.flags.String("consistency")));
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  etcdserverpb::MemberListRequest request;
  request.set_linearizable(!serializable);
  KV_TRY(const auto response, client->MemberList(request, session.Call()));
  return session.printer().MemberList(response);
}

Flag PeerUrlsFlag(std::string help) {
  return {"peer-urls", FlagType::kString, "", std::move(help)};
}

// Asks the first of the given endpoints whose member says that it leads.
Outcome<void> RunMoveLeader(Invocation& invocation) {
  if (invocation.args.size() != 1) return BadArguments("move-leader command needs 1 argument");
  const auto target = ParseUint(invocation.args.front(), 16);
  if (!target) return BadArguments(target.error().message);
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto endpoints, session.Endpoints());
  const client::CallOptions call = session.Call();
  for (const std::string& endpoint : endpoints) {
    KV_TRY(const auto client, session.ConnectTo(endpoint));
    KV_TRY(const auto status, client->Status(call));
    if (status.header().member_id() != status.leader()) continue;
    etcdserverpb::MoveLeaderRequest request;
    request.set_targetid(*target);
    KV_TRY(const auto moved, client->MoveLeader(request, call));
    return session.printer().MoveLeader(status.leader(), *target, moved);
  }
  return BadArguments(fmt::format("no leader endpoint given at [{}]", fmt::join(endpoints, " ")));
}

}  // namespace

Command MemberCommand() {
  return {
      .use = "member <subcommand>",
      .brief = "Membership related commands. Use `kvorumctl member --help` to see subcommands",
      .description = "Membership related commands",
      .group = kClusterGroup,
      .children = {
          {.use = "add <memberName> [options]",
           .brief = "Adds a member into the cluster",
           .flags = {PeerUrlsFlag("comma separated peer URLs for the new member."),
                     {.name = "learner", .help = "indicates if the new member is raft learner"}},
           .run = RunAdd},
          {.use = "remove <memberID>",
           .brief = "Removes a member from the cluster",
           .run = RunRemove},
          {.use = "update <memberID> [options]",
           .brief = "Updates a member in the cluster",
           .flags = {PeerUrlsFlag("comma separated peer URLs for the updated member.")},
           .run = RunUpdate},
          {.use = "promote <memberID>",
           .brief = "Promotes a non-voting member in the cluster",
           .description = "Promotes a non-voting learner member to a voting one in the "
                          "cluster.\n",
           .run = RunPromote},
          {.use = "list",
           .brief = "Lists all members in the cluster",
           .description = R"(Lists all members in the cluster.

In the simple format each line is a member: ID, Status, Name, Peer Addrs, Client Addrs, Is Learner.
)",
           .flags = {{"consistency",
                      FlagType::kString,
                      "l",
                      "l: linearizable; s: serializable, from this member alone",
                      {"l", "s"}}},
           .run = RunList},
          MemberReseedCommand()}};
}

Command MoveLeaderCommand() {
  return {.use = "move-leader <transferee-member-id>",
          .brief = "Transfers leadership to another etcd cluster member.",
          .group = kClusterGroup,
          .run = RunMoveLeader};
}

}  // namespace kvorum::ctl
