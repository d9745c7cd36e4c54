// Any bytes after the client's preface as an HTTP/2 connection: the session must answer, refuse or
// end, and never crash. The first byte determines in which portions the rest arrives.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rpc/http2/http2_session.h"
#include "rpc/io/loop.h"
#include "rpc/session/per_loop.h"

namespace kvorum::rpc {
namespace {

class IgnoringHost final : public SessionHost {
 public:
  void WantFlush() override {}
  void CountHeld() override {}
  void OnEstablished() override {}
};

void EchoMessages(const std::shared_ptr<ServerStream>& stream) {
  stream->Read([stream](Result<std::optional<SharedBytes>> message) {
    if (!message) return;
    if (!*message) return stream->FinishOk();
    stream->Write({std::move(**message)}, [stream](Result<void> written) {
      if (written) EchoMessages(stream);
    });
  });
}

Router MakeRouter() {
  Router router;
  router.AddUnary("t.T", "U",
                  [](const std::shared_ptr<CallContext>&, SharedBytes request, UnaryReply reply) {
                    reply.Send(std::move(request));
                  });
  router.AddStream("t.T", "B", MethodKind::kBidiStream, &EchoMessages);
  router.AddStream("t.T", "S", MethodKind::kServerStream, &EchoMessages);
  return router;
}

void Run(std::string_view input) {
  static const Options options = [] {
    Options small;
    small.max_receive_message_bytes = 4096;
    small.max_buffered_request_bytes = 16 * 1024;
    small.max_unsent_bytes = 8 * 1024;
    small.max_waiting_requests = 4;
    return small;
  }();
  static const Router router = MakeRouter();
  static const HttpHandler http = HttpMux::ToHandler({});
  static Loop loop(0, "fuzz");  // never started: its mailbox is emptied by hand
  static AnswerMemory answers(64 * 1024);
  PerLoop per_loop(options, router, http, loop, answers);
  IgnoringHost host;
  Http2Session session(per_loop, host, SharedBytes::Static("@"), {},
                       Http2Session::Serves::kGrpcAndHttp);
  const std::size_t portion = 1 + static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  bytes.append(input);
  for (std::size_t at = 0; at < bytes.size() && !session.ended(); at += portion) {
    session.OnInput(std::string_view(bytes).substr(at, portion));
    loop.mailbox()->Collect();
    session.Produce(per_loop.output);
    per_loop.output.Clear();
  }
  session.CancelAll({Code::kUnavailable, "over"});
  session.Produce(per_loop.output);
}

}  // namespace
}  // namespace kvorum::rpc

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  if (size_bytes > 0) kvorum::rpc::Run({reinterpret_cast<const char*>(data), size_bytes});
  return 0;
}
