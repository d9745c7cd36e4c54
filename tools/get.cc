#include "proto/rpc.pb.h"
#include "tools/commands.h"
#include "tools/kv_requests.h"
#include "tools/session.h"

namespace kvorum::ctl {
namespace {

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

Outcome<void> Run(Invocation& invocation) {
  const FlagSet& flags = invocation.flags;
  const auto request = MakeRange(flags, invocation.args);
  if (!request) return std::unexpected(request.error());
  const auto session = Session::Open(invocation);
  if (!session) return std::unexpected(session.error());
  const auto client = session->Connect();
  if (!client) return std::unexpected(client.error());
  const auto response = Fetch(**client, *request, flags.Switch("stream"), session->Call());
  if (!response) return FailWith(response.error());

  const std::string_view format = session->printer().format();
  if (flags.Switch("count-only") && format != "fields")
    return Fail(ExitCode::kBadArguments, "--count-only is only for `--write-out=fields`");
  if (flags.Switch("print-value-only") && format != "simple")
    return Fail(ExitCode::kBadArguments, "print-value-only is only for `--write-out=simple`");
  return session->printer().Get(*response);
}

}  // namespace

Command GetCommand() {
  return {.use = "get [options] <key> [range_end]",
          .brief = "Gets the key or a range of keys",
          .group = kKeyValueGroup,
          .flags = GetFlags(),
          .run = Run};
}

}  // namespace kvorum::ctl
