#include <chrono>
#include <iterator>
#include <ostream>
#include <thread>

#include "base/text/go_number.h"
#include "base/text/go_quote.h"
#include "proto/rpc.pb.h"
#include "tools/ctl/commands.h"
#include "tools/session/kv_requests.h"
#include "tools/session/session.h"
#include "tools/session/txn_input.h"
#include "tools/shell/command_groups.h"

namespace kvorum::ctl {
namespace {

Outcome<void> RunPut(Invocation& invocation) {
  const auto standard_input = [&] {
    return std::string(std::istreambuf_iterator<char>(invocation.world.in), {});
  };
  KV_TRY(const auto request, MakePut(invocation.flags, invocation.args, standard_input));
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  KV_TRY(const auto response, client->Put(request, session.Call()));
  return session.printer().Put(response);
}

Result<etcdserverpb::RangeResponse> Fetch(client::Client& client,
                                          const etcdserverpb::RangeRequest& request, bool stream,
                                          const client::CallOptions& call) {
  if (!stream) return client.Range(request, call);
  etcdserverpb::RangeResponse whole;
  KV_RETURN_IF_ERROR(client.RangeStream(
      request,
      [&](etcdserverpb::RangeResponse&& chunk) -> Result<void> {
        whole.MergeFrom(chunk);
        return {};
      },
      call));
  return whole;
}

Outcome<void> RunGet(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  KV_TRY(const auto request, MakeRange(flags, invocation.args));
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  KV_TRY(const auto response, Fetch(*client, request, flags.Switch("stream"), session.Call()));

  const std::string_view format = session.printer().format();
  if (flags.Switch("count-only") && format != "fields")
    return BadArguments("--count-only is only for `--write-out=fields`");
  if (flags.Switch("print-value-only") && format != "simple")
    return BadArguments("print-value-only is only for `--write-out=simple`");
  return session.printer().Get(response);
}

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

Outcome<void> RunDelete(Invocation& invocation) {
  KV_TRY(const auto request, MakeDelete(invocation.flags, invocation.args));
  WarnOfRange(invocation);
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  KV_TRY(const auto response, client->DeleteRange(request, session.Call()));
  return session.printer().Delete(response);
}

Outcome<void> RunCompaction(Invocation& invocation) {
  if (invocation.args.size() != 1) return BadArguments("compaction command needs 1 argument");
  const auto revision = ParseInt(invocation.args.front(), 10);
  if (!revision) return Fail(ExitCode::kError, revision.error().message);
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  etcdserverpb::CompactionRequest request;
  request.set_revision(*revision);
  request.set_physical(invocation.flags.Switch("physical"));
  KV_RETURN_IF_ERROR(client->Compact(request, session.Call()));
  invocation.world.out << "compacted revision " << *revision << '\n';
  return {};
}

Outcome<void> RunTxn(Invocation& invocation) {
  if (!invocation.args.empty()) return BadArguments("txn command does not accept argument");
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const auto client, session.Connect());
  KV_TRY(const auto request, ReadTxn(invocation.world.in, [&](std::string_view what) {
           if (invocation.flags.Switch("interactive")) invocation.world.out << what << std::endl;
         }));
  // No time-out, as in etcdctl: a large transaction may take its time.
  KV_TRY(const auto response, client->Txn(request));
  return session.printer().Txn(response);
}

}  // namespace

Command PutCommand() {
  return {.use = "put [options] <key> <value> (<value> can also be given from stdin)",
          .brief = "Puts the given key into the store",
          .description = R"(Puts the given key into the store.

A value that begins with '-' would be read as a flag; put -- before it:

$ put <key> -- <value>
$ put -- <key> <value>

A value that is not on the line is read from the standard input, to its end:

$ cat file | put <key>
)",
          .group = kKeyValueGroup,
          .flags = PutFlags(),
          .run = RunPut};
}

Command GetCommand() {
  return {.use = "get [options] <key> [range_end]",
          .brief = "Gets the key or a range of keys",
          .group = kKeyValueGroup,
          .flags = GetFlags(),
          .run = RunGet};
}

Command DelCommand() {
  return {.use = "del [options] <key> [range_end]",
          .brief = "Removes the specified key or range of keys [key, range_end)",
          .group = kKeyValueGroup,
          .flags = DeleteFlags(),
          .run = RunDelete};
}

Command CompactionCommand() {
  return {.use = "compaction [options] <revision>",
          .brief = "Compacts the event history in the store",
          .group = kKeyValueGroup,
          .flags = {{.name = "physical",
                     .help = "wait until the old revisions are gone from the database"}},
          .run = RunCompaction};
}

Command TxnCommand() {
  return {.use = "txn [options]",
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
          .flags = {{.name = "interactive", .help = "prompt for each block", .shorthand = 'i'}},
          .run = RunTxn};
}

}  // namespace kvorum::ctl
