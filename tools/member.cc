#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/kv_requests.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

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

}  // namespace

Command MemberCommand() {
  return {
      .use = "member <subcommand>",
      .brief = "Membership related commands. Use `kvorumctl member --help` to see subcommands",
      .description = "Membership related commands",
      .group = kClusterGroup,
      .children = {{.use = "list",
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
