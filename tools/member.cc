#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ostream>

#include "base/go_number.h"
#include "base/go_quote.h"
#include "base/url.h"
#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/kv_requests.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

// As they are, empty ones too: those are refused like any other invalid URL.
std::vector<std::string> SplitUrls(std::string_view list) {
  std::vector<std::string> urls;
  while (true) {
    const std::size_t comma = list.find(',');
    urls.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return urls;
    list.remove_prefix(comma + 1);
  }
}

Outcome<std::vector<std::string>> PeerUrls(const Invocation& invocation) {
  const std::string& urls = invocation.flags.String("peer-urls");
  if (urls.empty()) return Fail(ExitCode::kBadArguments, "member peer urls not provided");
  auto split = SplitUrls(urls);
  // The server's answer would not say which of them is invalid.
  for (const std::string& url : split) {
    if (const auto parsed = Url::Parse(url); !parsed.has_value())
      return Fail(ExitCode::kError, parsed.error().message);
  }
  return split;
}

Outcome<std::uint64_t> MemberIdArgument(const Invocation& invocation) {
  if (invocation.args.size() != 1)
    return Fail(ExitCode::kBadArguments, "member ID is not provided");
  const auto id = ParseUint(invocation.args.front(), 16);
  if (!id) {
    return Fail(ExitCode::kBadArguments,
                "bad member ID arg (" + id.error().message + "), expecting ID in Hex");
  }
  return *id;
}

Outcome<std::string> NameArgument(const Invocation& invocation) {
  const auto& args = invocation.args;
  if (args.empty()) return Fail(ExitCode::kBadArguments, "member name not provided");
  if (args.size() == 1) return args.front();
  std::string error = "too many arguments";
  for (const std::string& arg : args) {
    std::string lower = arg.substr(0, 4);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower == "http") error += ", did you mean --peer-urls=" + arg;
  }
  return Fail(ExitCode::kBadArguments, error);
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
  const auto name = NameArgument(invocation);
  if (!name) return std::unexpected(name.error());
  const auto urls = PeerUrls(invocation);
  if (!urls) return std::unexpected(urls.error());
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  etcdserverpb::MemberAddRequest request;
  request.mutable_peerurls()->Assign(urls->begin(), urls->end());
  request.set_islearner(invocation.flags.Switch("learner"));
  const auto response = (*client)->MemberAdd(request, session->Call());
  if (!response) return FailWith(response.error());
  if (auto printed = session->printer().MemberAdd(*response); !printed) return printed;
  if (session->printer().format() == "simple") {
    PrintStartVariables(invocation.world.out, *name, invocation.flags.String("peer-urls"),
                        *response);
  }
  return {};
}

// The three commands on one member, named by its id.
template <class Request, class Prepare, class Ask, class Show>
Outcome<void> RunOnMember(Invocation& invocation, const Prepare& prepare, const Ask& ask,
                          const Show& show) {
  const auto id = MemberIdArgument(invocation);
  if (!id) return std::unexpected(id.error());
  Request request;
  request.set_id(*id);
  if (auto prepared = prepare(request); !prepared) return std::unexpected(prepared.error());
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  const auto response = ask(**client, request, session->Call());
  if (!response) return FailWith(response.error());
  return show(session->printer(), *id, *response);
}

Outcome<void> RunRemove(Invocation& invocation) {
  return RunOnMember<etcdserverpb::MemberRemoveRequest>(
      invocation, [](auto&) -> Outcome<void> { return {}; },
      [](client::Client& client, const auto& request, const auto& call) {
        return client.MemberRemove(request, call);
      },
      [](Printer& printer, std::uint64_t id, const auto& response) {
        return printer.MemberRemove(id, response);
      });
}

Outcome<void> RunUpdate(Invocation& invocation) {
  return RunOnMember<etcdserverpb::MemberUpdateRequest>(
      invocation,
      [&](auto& request) -> Outcome<void> {
        const auto urls = PeerUrls(invocation);
        if (!urls) return std::unexpected(urls.error());
        request.mutable_peerurls()->Assign(urls->begin(), urls->end());
        return {};
      },
      [](client::Client& client, const auto& request, const auto& call) {
        return client.MemberUpdate(request, call);
      },
      [](Printer& printer, std::uint64_t id, const auto& response) {
        return printer.MemberUpdate(id, response);
      });
}

Outcome<void> RunPromote(Invocation& invocation) {
  return RunOnMember<etcdserverpb::MemberPromoteRequest>(
      invocation, [](auto&) -> Outcome<void> { return {}; },
      [](client::Client& client, const auto& request, const auto& call) {
        return client.MemberPromote(request, call);
      },
      [](Printer& printer, std::uint64_t id, const auto& response) {
        return printer.MemberPromote(id, response);
      });
}

Outcome<void> RunList(Invocation& invocation) {
  const auto serializable = IsSerializable(invocation.flags.String("consistency"));
  if (!serializable) return std::unexpected(serializable.error());
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  etcdserverpb::MemberListRequest request;
  request.set_linearizable(!*serializable);
  const auto response = (*client)->MemberList(request, session->Call());
  if (!response) return FailWith(response.error());
  return session->printer().MemberList(*response);
}

Flag PeerUrlsFlag(std::string help) {
  return {.name = "peer-urls", .type = FlagType::kString, .help = std::move(help)};
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
           .flags = {{.name = "consistency",
                      .type = FlagType::kString,
                      .default_value = "l",
                      .help = "l: linearizable; s: serializable, from this member alone",
                      .choices = {"l", "s"}}},
           .run = RunList}}};
}

}  // namespace kvorum::ctl
