#include "rpc/http1/http1_session.h"

#include <fmt/format.h>

#include <utility>

#include "base/letter_case.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/call/open_body.h"
#include "rpc/http/http1_parser.h"
#include "rpc/http/http_date.h"
#include "rpc/http/loop_http_sink.h"
#include "rpc/http1/websocket_session.h"

namespace kvorum::rpc {
namespace {

unsigned StatusOf(const Error& error) { return error.code == Code::kResourceExhausted ? 431 : 400; }

}  // namespace

class Http1Session::Answer final : public LoopHttpBody {
 public:
  Answer(Http1Session& session, Loop& loop) : LoopHttpBody(loop), session_(&session) {}

  // The answer is complete.
  void Detach() { session_ = nullptr; }
  // The connection is gone.
  void OnEnd() {
    session_ = nullptr;
    OnClientEnd();
    Tell(Fail(CanceledError()));
  }
  bool has_begun() const { return has_begun_; }

  void Hold(std::size_t bytes) override {
    if (session_ == nullptr) return;
    session_->handler_bytes_ = bytes;
    session_->host_.CountHeld();
  }
  std::shared_ptr<HttpBody> Begin(HttpResponse head) override {
    if (session_ == nullptr) return nullptr;
    has_begun_ = true;
    session_->BeginBody(head);
    return std::static_pointer_cast<Answer>(shared_from_this());
  }
  std::optional<HttpUpgrade> Upgrade(HttpResponse head) override {
    if (session_ == nullptr) return std::nullopt;
    return std::exchange(session_, nullptr)->Upgrade(head);
  }
  void Write(ByteChain bytes, Written written) override {
    set_written(std::move(written));
    if (session_ == nullptr) return Tell(Fail(CanceledError()));
    session_->SendChunk(std::move(bytes));
  }
  void End() override {
    if (session_ != nullptr) session_->EndBody();
  }

 private:
  void Deliver(HttpResponse response) override {
    if (session_ != nullptr) session_->SendResponse(std::move(response));
  }

  Http1Session* session_;
  bool has_begun_ = false;
};

Http1Session::Http1Session(PerLoop& per_loop, SessionHost& host, SharedBytes peer,
                           std::optional<SharedBytes> certificate_name, bool is_secure)
    : per_loop_(per_loop),
      host_(host),
      peer_(std::move(peer)),
      certificate_name_(std::move(certificate_name)),
      is_secure_(is_secure) {
  EnterPhase(Phase::kIdle);
}

Http1Session::~Http1Session() {
  per_loop_.loop.Disarm(timer_);
  per_loop_.loop.Disarm(resume_timer_);
  if (open_body_ != nullptr) open_body_->Fail(CanceledError());
  if (answer_ != nullptr) answer_->OnEnd();
}

void Http1Session::EnterPhase(Phase phase) {
  phase_ = phase;
  const TimePoint now = per_loop_.loop.now();
  switch (phase) {
    case Phase::kIdle:
      return per_loop_.loop.Arm(timer_, now + per_loop_.options.http_idle_timeout);
    case Phase::kHead:
      return per_loop_.loop.Arm(timer_, now + per_loop_.options.http_header_timeout);
    case Phase::kBody:
    case Phase::kOpenBody:  // until the answer has begun
      return per_loop_.loop.Arm(timer_, now + per_loop_.options.http_body_timeout);
    case Phase::kHandling:
      return per_loop_.loop.Disarm(timer_);
  }
}

void Http1Session::OnTimer() {
  closing_ = true;
  if (open_body_ != nullptr) open_body_->Fail(CanceledError());
  if (answer_ != nullptr) std::exchange(answer_, nullptr)->OnEnd();
  host_.WantFlush();
}

void Http1Session::OnInput(std::string_view bytes) {
  if (websocket_ != nullptr) return websocket_->OnInput(bytes);
  if (closing_ && phase_ != Phase::kOpenBody) return;
  input_.append(bytes);
  ParseInput();
}

void Http1Session::OnInputEnd() {
  if (websocket_ != nullptr) return websocket_->OnInputEnd();
  // A client may close its half and still wait for the answer.
  input_ended_ = true;
  if (answer_ != nullptr) answer_->OnClientEnd();
  ParseInput();
}

bool Http1Session::ending() const {
  return websocket_ != nullptr ? websocket_->ending() : closing_ && answer_ == nullptr;
}

bool Http1Session::ended() const {
  if (!output_.empty()) return false;
  return websocket_ != nullptr ? websocket_->ended() : closing_ && answer_ == nullptr;
}

bool Http1Session::pauses_input(bool blocked) const {
  if (websocket_ != nullptr) return websocket_->pauses_input(blocked);
  if (phase_ == Phase::kOpenBody) return open_body_->is_full();
  // The next requests wait in the socket: while one is handled, while its answer is not read, and
  // until those that are here have been parsed. An incomplete head is smaller.
  return input_.size() > per_loop_.options.http_max_header_bytes;
}

std::size_t Http1Session::held_bytes() const {
  // A growing body holds what it has reserved, up to twice what is in it.
  std::size_t held = input_.size() + body_.capacity() + handler_bytes_;
  if (parser_ != nullptr) held += parser_->held_bytes();
  for (const SharedBytes& part : output_) held += part.size();
  if (open_body_ != nullptr) held += open_body_->held_bytes();
  if (websocket_ != nullptr) held += websocket_->held_bytes();
  return held;
}

bool Http1Session::output_waits() const {
  if (host_.blocked()) return true;
  std::size_t bytes = 0;
  for (const SharedBytes& part : output_) bytes += part.size();
  return bytes >= AnswerMemory::kStepBytes;
}

void Http1Session::ResumeInput() {
  ParseInput();
  host_.WantFlush();  // the socket may be read again
}

void Http1Session::ParseInput() {
  while (!closing_ && phase_ != Phase::kHandling && phase_ != Phase::kOpenBody) {
    if (phase_ == Phase::kIdle && output_waits()) return;  // Produce resumes
    if (!ParseSome()) {
      if (!input_ended_) return;
      closing_ = true;  // the missing part will not come
      host_.WantFlush();
    }
  }
  if (phase_ == Phase::kOpenBody) ParseOpenBody();
}

bool Http1Session::ParseSome() {
  if (phase_ == Phase::kIdle) {
    if (input_.empty()) return false;
    parser_ = std::make_unique<Http1Parser>(Http1Parser::Kind::kRequest,
                                            per_loop_.options.http_max_header_bytes);
    EnterPhase(Phase::kHead);
  }
  const auto used = parser_->Put(input_, body_);
  if (parser_->head_done() && phase_ == Phase::kHead) OnHead();
  if (closing_) return true;
  if (phase_ == Phase::kOpenBody && used) {
    input_.erase(0, *used);
    DispatchOpen();
    return true;
  }
  if (phase_ == Phase::kHandling) {  // without its body
    input_.clear();
    body_.clear();
    Dispatch();
    return true;
  }
  if (!used) {
    Refuse(StatusOf(used.error()));
    return true;
  }
  input_.erase(0, *used);
  if (body_.size() >= AnswerMemory::kStepBytes) {
    host_.CountHeld();
    if (*used > 0 && per_loop_.answers.exhausted()) {
      Refuse(503);
      return true;
    }
  }
  if (body_.size() > per_loop_.options.http_max_body_bytes) {
    RefuseBody(/*length=*/0);
    return true;
  }
  if (!parser_->done()) return *used > 0;
  Dispatch();
  return true;
}

void Http1Session::OnHead() {
  if (!std::exchange(established_, true)) host_.OnEstablished();
  EnterPhase(Phase::kBody);
  const HttpHead& head = parser_->head();
  const std::uint64_t length = head.content_length.value_or(0);
  if (length > per_loop_.options.http_max_body_bytes) return RefuseBody(length);
  if (const auto& refusal = parser_->refusal()) return Refuse(refusal->status, refusal->text);
  if (EqualsInAnyCase(head.Header("expect"), "100-continue") && !parser_->done()) {
    const auto& reads_open_body = per_loop_.options.reads_open_body;
    const auto& reads_body = per_loop_.options.reads_body;
    if (reads_open_body != nullptr && reads_open_body(head.method, head.Path())) {
      EnterPhase(Phase::kOpenBody);
    } else if (reads_body != nullptr && !reads_body(head.method, head.Path())) {
      parser_->GiveUpBody();
      return EnterPhase(Phase::kHandling);
    }
    output_.push_back(SharedBytes::Static("HTTP/1.1 100 Continue\r\n\r\n"));
    host_.WantFlush();
  }
}

void Http1Session::Dispatch() {
  if (phase_ == Phase::kBody) EnterPhase(Phase::kHandling);
  HttpHead head = parser_->TakeHead();
  if (phase_ == Phase::kHandling) parser_.reset();
  keep_alive_ = head.keep_alive && phase_ == Phase::kHandling;
  head_only_ = head.method == "HEAD";
  http_1_0_ = head.is_http_1_0;
  HttpRequest request{.method = std::move(head.method),
                      .target = std::move(head.target),
                      .headers = std::move(head.headers),
                      .body = SharedBytes::Own(std::exchange(body_, {})),
                      .peer = peer_,
                      .certificate_name = certificate_name_,
                      .loop = &per_loop_.loop,
                      .is_secure = is_secure_,
                      .input = open_body_};
  answer_ = std::make_shared<Answer>(*this, per_loop_.loop);
  per_loop_.http(std::move(request), HttpReply(answer_));
}

void Http1Session::DispatchOpen() {
  open_body_ = std::make_shared<OpenBody>(per_loop_.loop, [this] {
    if (!input_.empty()) per_loop_.loop.Arm(resume_timer_, per_loop_.loop.now());
    host_.WantFlush();
  });
  Dispatch();
}

void Http1Session::ParseOpenBody() {
  while (!open_body_->is_full() && !parser_->done() && !input_.empty()) {
    const auto used = parser_->Put(input_, body_);
    open_body_->Put(std::exchange(body_, {}));
    if (!used) return EndOpenBody();  // malformed: as if the client had closed its side
    input_.erase(0, *used);
    if (*used == 0) break;
  }
  if (parser_->done() || input_ended_) EndOpenBody();
}

void Http1Session::EndOpenBody() {
  open_body_->End();
  parser_.reset();
  input_.clear();
  phase_ = Phase::kHandling;
}

std::optional<HttpUpgrade> Http1Session::Upgrade(const HttpResponse& head) {
  answer_.reset();
  // Bytes before the answer to the handshake are not frames.
  if (!input_.empty()) {
    closing_ = true;
    host_.WantFlush();
    return std::nullopt;
  }
  std::string lines = fmt::format("HTTP/1.1 {} {}\r\n", head.status, ReasonOf(head.status));
  for (const HttpHeader& header : head.headers)
    lines += fmt::format("{}: {}\r\n", header.name, header.value);
  output_.push_back(SharedBytes::Own(lines + "\r\n"));
  websocket_ = std::make_unique<WebSocketSession>(per_loop_, host_);
  host_.WantFlush();
  return websocket_->Begin();
}

void Http1Session::EndAnswer() {
  answer_->Detach();
  answer_.reset();
  handler_bytes_ = 0;
}

void Http1Session::SendResponse(HttpResponse response) {
  EndAnswer();
  SendHead(response, fmt::format("Content-Length: {}\r\n", SizeBytes(response.body)));
  if (!head_only_) {
    for (SharedBytes& part : response.body) {
      if (!part.empty()) output_.push_back(std::move(part));
    }
  }
  EnterPhase(Phase::kIdle);
  host_.WantFlush();
  // Produce begins the next request, not this one's handler.
}

void Http1Session::SendHead(const HttpResponse& response, std::string_view framing) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, ReasonOf(response.status));
  for (const HttpHeader& header : response.headers)
    head += fmt::format("{}: {}\r\n", header.name, header.value);
  if (!response.content_type.empty())
    head += fmt::format("Content-Type: {}\r\n", response.content_type);
  head += fmt::format("Date: {}\r\n{}", HttpDate(), framing);
  if (!keep_alive_ || closing_) {
    head += "Connection: close\r\n";
    closing_ = true;
  } else if (http_1_0_) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  output_.push_back(SharedBytes::Own(std::move(head)));
}

void Http1Session::BeginBody(const HttpResponse& head) {
  per_loop_.loop.Disarm(timer_);
  if (http_1_0_) keep_alive_ = false;  // the end of the connection is the body's
  SendHead(head, http_1_0_ ? "" : "Transfer-Encoding: chunked\r\n");
  host_.WantFlush();
}

void Http1Session::SendChunk(ByteChain bytes) {
  host_.WantFlush();
  if (SizeBytes(bytes) == 0) return;  // an empty chunk would end the body
  if (!http_1_0_) output_.push_back(SharedBytes::Own(fmt::format("{:x}\r\n", SizeBytes(bytes))));
  for (SharedBytes& part : bytes) {
    if (!part.empty()) output_.push_back(std::move(part));
  }
  if (!http_1_0_) output_.push_back(SharedBytes::Static("\r\n"));
}

void Http1Session::EndBody() {
  EndAnswer();
  if (!http_1_0_) output_.push_back(SharedBytes::Static("0\r\n\r\n"));
  EnterPhase(Phase::kIdle);
  host_.WantFlush();
}

void Http1Session::Refuse(unsigned status, std::string_view text) {
  if (!std::exchange(established_, true)) host_.OnEstablished();
  const std::string line = fmt::format("{} {}", status, ReasonOf(status));
  output_.push_back(
      SharedBytes::Own(fmt::format("HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                   "Connection: close\r\n\r\n{}",
                                   line, text.empty() ? line : text)));
  closing_ = true;
  per_loop_.loop.Disarm(timer_);
  host_.WantFlush();
}

void Http1Session::RefuseBody(std::uint64_t length) {
  const auto& text = per_loop_.options.http_too_large_text;
  const HttpHead& head = parser_->head();
  Refuse(413, text == nullptr ? std::string() : text(head.method, head.Path(), length));
}

void Http1Session::Produce(OutputBatch& batch) {
  while (!output_.empty() && !batch.full()) {
    batch.Append(output_.front());
    output_.pop_front();
  }
  if (websocket_ != nullptr) return output_.empty() ? websocket_->Produce(batch) : void();
  if (output_.empty() && answer_ != nullptr) answer_->OnOutputTaken();
  const bool waits = !input_.empty() || input_ended_;
  if (output_.empty() && phase_ == Phase::kIdle && waits && !closing_) {
    // Pipelined requests, or the end: the next wake-up handles them, before its hooks.
    per_loop_.loop.Arm(resume_timer_, per_loop_.loop.now());
  }
}

void Http1Session::Drain() {
  if (websocket_ != nullptr) return websocket_->Drain();
  keep_alive_ = false;
  if (answer_ == nullptr) closing_ = true;
  host_.WantFlush();
}

void Http1Session::CancelAll(const Error& reason) {
  if (websocket_ != nullptr) return websocket_->CancelAll(reason);
  if (open_body_ != nullptr) open_body_->Fail(reason);
  if (answer_ != nullptr && answer_->has_begun()) {
    std::exchange(answer_, nullptr)->OnEnd();
  } else if (answer_ != nullptr) {
    answer_->OnClientEnd();
    SendResponse(HttpResponse::Text(503, reason.message + "\n"));
  }
  closing_ = true;
  host_.WantFlush();
}

}  // namespace kvorum::rpc
