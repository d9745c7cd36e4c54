#include <iterator>

#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/kv_requests.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

Outcome<void> Run(Invocation& invocation) {
  const auto standard_input = [&] {
    return std::string(std::istreambuf_iterator<char>(invocation.world.in), {});
  };
  const auto request = MakePut(invocation.flags, invocation.args, standard_input);
  if (!request) return std::unexpected(request.error());
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  const auto response = (*client)->Put(*request, session->Call());
  if (!response) return FailWith(response.error());
  return session->printer().Put(*response);
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
          .run = Run};
}

}  // namespace kvorum::ctl
