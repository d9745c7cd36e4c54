#include "tests/rpc/test_server.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"
#include "rpc/http/http_input.h"
#include "rpc/http1/websocket_handshake.h"

namespace kvorum::rpc {
namespace {

using Context = std::shared_ptr<CallContext>;
using Stream = std::shared_ptr<ServerStream>;

constexpr std::string_view kService = "test.Echo";

// Writes `left` messages, one after the other.
void Expand(const Stream& stream, int left, std::atomic<std::size_t>& largest) {
  if (left == 0) return stream->FinishOk();
  stream->Write({SharedBytes::Own(std::string(1000, 'x'))},
                [stream, left, &largest](Result<void> written) {
                  if (written) Expand(stream, left - 1, largest);
                });
  const std::size_t buffered = stream->buffered_bytes();
  if (buffered > largest) largest = buffered;
}

// Echoes each message as two messages in one write; a "cut" is cut.
void Repeat(const Stream& stream) {
  stream->Read([stream](Result<std::optional<SharedBytes>> message) {
    if (!message || !*message) return;
    const std::string text((*message)->view());
    if (text == "cut") return stream->Cut({Code::kUnavailable, "cut off"});
    const std::string prefix{0, 0, 0, 0, static_cast<char>(text.size())};
    stream->WriteFrames({SharedBytes::Own(prefix + text), SharedBytes::Own(std::string(prefix)),
                         SharedBytes::Copy(text)},
                        2, [stream](Result<void> written) {
                          if (written) Repeat(stream);
                        });
  });
}

void Collect(const Stream& stream, std::size_t sum) {
  stream->Read([stream, sum](Result<std::optional<SharedBytes>> message) {
    if (!message) return;
    if (*message) return Collect(stream, sum + (*message)->size());
    stream->Write({SharedBytes::Own(std::to_string(sum))}, [stream](Result<void>) {});
    stream->FinishOk();
  });
}

void Chat(const Stream& stream) {
  stream->Read([stream](Result<std::optional<SharedBytes>> message) {
    if (!message) return;
    if (!*message) return stream->FinishOk();
    stream->Write({std::move(**message)}, [stream](Result<void> written) {
      if (written) Chat(stream);
    });
  });
}

// Makes `left` bytes of 'p'.
class PieceMaker final : public AnswerRest, public std::enable_shared_from_this<PieceMaker> {
 public:
  PieceMaker(TestServer& server, Executor& executor, std::size_t left, int fails_at)
      : server_(server), executor_(executor), left_(left), fails_at_(fails_at) {
    ++server_.makers;
  }
  ~PieceMaker() override { --server_.makers; }

  void MakeNext(Taker taker) override {
    executor_.Post([self = shared_from_this(), taker = std::move(taker)]() mutable {
      ++self->server_.pieces;
      if (++self->made_ == self->fails_at_) return taker(Fail(Code::kDataLoss, "broken"));
      const std::size_t size = std::min(self->left_, TestServer::kPieceBytes);
      self->left_ -= size;
      AnswerPiece piece;
      piece.bytes.push_back(SharedBytes::Own(std::string(size, 'p')));
      taker(std::move(piece));
    });
  }

 private:
  TestServer& server_;
  Executor& executor_;
  std::size_t left_;
  const int fails_at_;
  int made_ = 0;
};

// Goes on with a stream that it has finished itself.
void FinishAndGoOn(const Stream& stream, std::atomic<int>& refused) {
  const auto count = [stream, &refused](const auto& result) {
    KV_CHECK(!result.has_value() && result.error().code == Code::kCanceled, "it was carried out");
    ++refused;
  };
  stream->Finish({Code::kAborted, "first"});
  stream->Read(count);
  stream->Read(count);
  stream->Write({SharedBytes::Static("late")}, count);
  stream->WriteFrames({SharedBytes::Own(std::string(5, '\0'))}, 1, count);
  stream->Finish({Code::kAborted, "second"});
  stream->Cut({Code::kAborted, "third"});
}

void ReadOn(const Stream& stream, std::atomic<int>& refused) {
  stream->Read([stream, &refused](const Result<std::optional<SharedBytes>>& message) {
    if (message.has_value()) return ReadOn(stream, refused);
    ++refused;
  });
}

void WriteOn(const Stream& stream, std::atomic<int>& refused) {
  stream->Write({SharedBytes::Static("more")}, [stream, &refused](const Result<void>& written) {
    if (written.has_value()) return WriteOn(stream, refused);
    ++refused;
  });
}

}  // namespace

TestServer::TestServer(Options options) {
  options.reads_open_body = [](std::string_view, std::string_view path) {
    return path == "/stream";
  };
  options.reads_body = [](std::string_view method, std::string_view) { return method == "POST"; };
  server_ = std::make_unique<Server>(std::move(options), MakeRouter(), MakeHttp());
  auto address = server_->Listen("127.0.0.1", 0);
  KV_CHECK(address.has_value(), "cannot listen");
  address_ = *address;
  for (std::size_t i = 0; i < server_->loop_count(); ++i)
    server_->loop(i).AddBatchHook([this] { ++batches; });
  server_->Start();
}

TestServer::~TestServer() {
  server_.reset();
  other_thread_.Stop();
  KV_CHECK(makers == 0, "a large answer outlived its call");
}

std::uint16_t TestServer::port() const {
  return static_cast<std::uint16_t>(std::stoi(address_.substr(address_.rfind(':') + 1)));
}

void TestServer::Release() {
  {
    std::lock_guard lock(mutex_);
    released_ = true;
  }
  ReleaseHeld();
}

void TestServer::ReleaseHeld() {
  std::vector<std::move_only_function<void()>> holding;
  {
    std::lock_guard lock(mutex_);
    holding.swap(holding_);
  }
  for (auto& release : holding) release();
}

void TestServer::Hold(std::move_only_function<void()> release) {
  {
    std::lock_guard lock(mutex_);
    if (!released_) {
      holding_.push_back(std::move(release));
      most_held = std::max(most_held.load(), holding_.size());
      ++held;
      return;
    }
    ++held;
  }
  release();
}

CallEnd TestServer::last_end() {
  std::lock_guard lock(mutex_);
  last_end_.message = last_message_;
  return last_end_;
}

std::string TestServer::last_peer() {
  std::lock_guard lock(mutex_);
  return last_peer_;
}

std::optional<std::string> TestServer::last_certificate_name() {
  std::lock_guard lock(mutex_);
  return last_certificate_name_;
}

Router TestServer::MakeRouter() {
  Router router;
  router.AddUnary(kService, "Unary", [](const Context&, SharedBytes request, UnaryReply reply) {
    reply.Send(std::move(request));
  });
  router.AddUnary(kService, "Later", [this](const Context&, SharedBytes request, UnaryReply reply) {
    other_thread_.Post(
        [request, reply = std::move(reply)]() mutable { reply.Send(std::move(request)); });
  });
  router.AddUnary(kService, "Fail",
                  [](const Context&, const SharedBytes& request, UnaryReply reply) {
                    const std::string text(request.view());
                    const std::size_t colon = text.find(':');
                    reply.Fail({static_cast<Code>(std::stoi(text)), text.substr(colon + 1)});
                  });
  router.AddUnary(
      kService, "Hold", [this](const Context& context, SharedBytes request, UnaryReply reply) {
        context->OnCancel([this](const Error&) { ++cancelled; });
        Hold([request, reply = std::move(reply)]() mutable { reply.Send(std::move(request)); });
      });
  router.AddUnary(kService, "Drop", [](const Context&, const SharedBytes&, UnaryReply) {});
  router.AddUnary(
      kService, "Size", [](const Context&, const SharedBytes& request, UnaryReply reply) {
        std::string bytes(std::stoul(std::string(request.view())), 's');
        // Two slices, so that the chain is tested too.
        const std::size_t half = bytes.size() / 2;
        const SharedBytes whole = SharedBytes::Own(std::move(bytes));
        reply.Send(ByteChain{whole.Slice(0, half), whole.Slice(half, whole.size() - half)});
      });
  router.AddUnary(
      kService, "Pieces", [this](const Context&, const SharedBytes& request, UnaryReply reply) {
        const std::string text(request.view());
        const std::size_t space = text.find(' ');
        const int fails_at = space == std::string::npos ? 0 : std::stoi(text.substr(space));
        LargeAnswer answer;
        answer.begun.bytes.push_back(SharedBytes::Static("begun"));
        answer.rest_bytes = std::stoul(text) - SizeBytes(answer.begun.bytes);
        answer.rest =
            std::make_shared<PieceMaker>(*this, other_thread_, answer.rest_bytes, fails_at);
        reply.Send(std::move(answer));
      });
  router.AddUnary(kService, "Metadata",
                  [](const Context& context, const SharedBytes&, UnaryReply reply) {
                    std::string text;
                    context->ForEachMetadata([&](std::string_view name, std::string_view value) {
                      text.append(name).append("=").append(value).append("\n");
                    });
                    reply.Send(SharedBytes::Own(std::move(text)));
                  });
  router.AddStream(kService, "Repeat", MethodKind::kBidiStream, [this](const Stream& stream) {
    stream->context().OnCancel([this](const Error&) { ++cancelled; });
    Repeat(stream);
  });
  router.AddStream(kService, "Expand", MethodKind::kServerStream, [this](const Stream& stream) {
    stream->Read([this, stream](Result<std::optional<SharedBytes>> request) {
      if (!request) return;
      KV_CHECK(request->has_value(), "a server stream's first Read has a message");
      Expand(stream, std::stoi(std::string((*request)->view())), largest_buffered);
    });
  });
  router.AddStream(kService, "Collect", MethodKind::kClientStream,
                   [](const Stream& stream) { Collect(stream, 0); });
  router.AddStream(kService, "Chat", MethodKind::kBidiStream, [this](const Stream& stream) {
    stream->context().OnCancel([this](const Error&) { ++cancelled; });
    Chat(stream);
  });
  router.AddStream(kService, "Stall", MethodKind::kClientStream, [this](const Stream& stream) {
    stream->context().OnCancel([this](const Error&) { ++cancelled; });
    Hold([stream] {
      if (!stream->context().cancelled()) Collect(stream, 0);
    });
  });
  router.AddStream(kService, "Late", MethodKind::kBidiStream, [this](const Stream& stream) {
    stream->Read([this, stream](const Result<std::optional<SharedBytes>>& message) {
      if (message.has_value()) FinishAndGoOn(stream, late);
    });
  });
  router.AddStream(kService, "Race", MethodKind::kBidiStream, [this](const Stream& stream) {
    stream->Read([this, stream](const Result<std::optional<SharedBytes>>& message) {
      if (!message.has_value()) return;
      other_thread_.Post([stream] { stream->FinishOk(); });
      ReadOn(stream, late);
      WriteOn(stream, late);
    });
  });
  router.SetStartHook([this](CallContext&) { ++started; });
  router.SetStreamHook([this](const MethodInfo&, std::uint64_t read, std::uint64_t written) {
    stream_reads += read;
    stream_writes += written;
  });
  router.SetEndHook([this](const CallContext& context, const CallEnd& end) {
    std::lock_guard lock(mutex_);
    last_end_ = end;
    last_message_ = end.message;
    last_peer_ = context.peer();
    last_certificate_name_ = context.certificate_name().transform(
        [](const SharedBytes& name) { return std::string(name.view()); });
    ++ended;
  });
  health_.Register(router);
  return router;
}

namespace {

// Sends a body back while it comes.
void EchoOn(const std::shared_ptr<HttpInput>& input, const std::shared_ptr<HttpBody>& body);

void EchoBytes(const std::shared_ptr<HttpInput>& input, const std::shared_ptr<HttpBody>& body,
               std::string bytes) {
  if (bytes.empty()) return body->End();
  body->Write({SharedBytes::Own(std::move(bytes))}, [input, body](const Result<void>& written) {
    if (written.has_value()) EchoOn(input, body);
  });
}

void EchoOn(const std::shared_ptr<HttpInput>& input, const std::shared_ptr<HttpBody>& body) {
  input->Read([input, body](Result<std::string> bytes) {
    if (bytes.has_value()) EchoBytes(input, body, *std::move(bytes));
  });
}

// The answer begins with the first bytes.
void Echo(const std::shared_ptr<HttpInput>& input, HttpReply reply) {
  input->Read([input, reply = std::move(reply)](Result<std::string> bytes) mutable {
    if (!bytes.has_value()) return;
    const std::shared_ptr<HttpBody> body = reply.Begin(HttpResponse::Text(200, ""));
    if (body != nullptr) EchoBytes(input, body, *std::move(bytes));
  });
}

// Over WebSocket, too.
void ServeOpenBody(HttpRequest request, HttpReply reply) {
  if (request.input != nullptr) return Echo(request.input, std::move(reply));
  auto accepted = AcceptWebSocket(request);
  if (!accepted.has_value()) return reply.Send(std::move(accepted).error());
  const auto upgrade = reply.Upgrade(*std::move(accepted));
  if (upgrade.has_value()) Echo(upgrade->input, std::move(*upgrade->reply));
}

}  // namespace

HttpHandler TestServer::MakeHttp() {
  HttpMux mux;
  mux.Handle("/health", [](const HttpRequest&, HttpReply reply) {
    reply.Send(HttpResponse::Json(200, R"({"health":"true"})"));
  });
  mux.Handle("/echo", [](HttpRequest request, HttpReply reply) {
    HttpResponse response;
    response.headers.push_back({"X-Method", request.method});
    response.body.push_back(std::move(request.body));
    reply.Send(std::move(response));
  });
  mux.Handle("/later", [](HttpRequest, HttpReply reply) {
    std::thread([reply = std::move(reply)]() mutable {
      reply.Send(HttpResponse::Text(200, "later"));
    }).detach();
  });
  // In two parts, each when the one before is taken.
  mux.Handle("/parts", [](const HttpRequest&, HttpReply reply) {
    const std::shared_ptr<HttpBody> body = reply.Begin(HttpResponse::Text(200, ""));
    body->Write({SharedBytes::Static("one")}, [body](const Result<void>& first) {
      if (!first.has_value()) return;
      body->Write({SharedBytes::Static("two"), SharedBytes::Static("!")},
                  [body](const Result<void>&) { body->End(); });
    });
  });
  // Never, but the client's leaving is counted.
  mux.Handle("/waits", [this](const HttpRequest&, HttpReply reply) {
    reply.OnGone([this] { ++gone_clients; });
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(reply));
  });
  mux.Handle("/large", [this](const HttpRequest&, HttpReply reply) {
    ++large_answers;
    reply.Send(HttpResponse::Text(200, std::string(kLargeBytes, 'l')));
  });
  mux.Handle("/stream", ServeOpenBody);
  mux.HandlePrefix("/v3/", [](const HttpRequest& request, HttpReply reply) {
    reply.Send(HttpResponse::Text(200, std::string(request.Path())));
  });
  return HttpMux::ToHandler(std::move(mux));
}

}  // namespace kvorum::rpc
