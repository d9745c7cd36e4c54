#include <ostream>

#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/session.h"
#include "tools/txn_input.h"

namespace kvorum::ctl {
namespace {

Outcome<void> Run(Invocation& invocation) {
  if (!invocation.args.empty())
    return Fail(ExitCode::kBadArguments, "txn command does not accept argument");
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  const auto request = ReadTxn(invocation.world.in, [&](std::string_view what) {
    if (invocation.flags.Switch("interactive")) invocation.world.out << what << std::endl;
  });
  if (!request) return std::unexpected(request.error());
  // No time-out, as in etcdctl: a large transaction may take its time.
  const auto response = (*client)->Txn(*request);
  if (!response) return FailWith(response.error());
  return session->printer().Txn(*response);
}

}  // namespace

Command TxnCommand() {
  return {
      .use = "txn [options]",
      .brief = "Txn processes all the requests in one transaction",
      .description =
          R"(Reads requests from standard input and applies them as one atomic transaction.

The input has three blocks of lines, each ended by an empty line:
1) conditions,
2) requests for when all conditions hold,
3) requests for when one does not.

Conditions are create, mod, version, value or lease of a key, compared by =, !=, < or >. Requests are
get, put and del with their flags.

$ kvorumctl txn -i
compares:
mod("key1") > "0"

success requests (get, put, del):
put key1 "overwrote-key1"

failure requests (get, put, del):
put key1 "created-key1"
put key2 "some extra key"
)",
      .group = kKeyValueGroup,
      .flags = {{.name = "interactive", .shorthand = 'i', .help = "say which block is awaited"}},
      .run = Run};
}

}  // namespace kvorum::ctl
