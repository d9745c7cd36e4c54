#include "rpc/http1_session.h"

#include <fmt/format.h>

#include <utility>

#include "base/letter_case.h"
#include "rpc/http1_parser.h"
#include "rpc/http_date.h"
#include "rpc/loop_http_sink.h"

namespace kvorum::rpc {
namespace {

unsigned StatusOf(const Error& error) { return error.code == Code::kResourceExhausted ? 431 : 400; }

}  // namespace

class Http1Session::Answer final : public LoopHttpSink {
 public:
  Answer(Http1Session& session, Loop& loop) : LoopHttpSink(loop), session_(&session) {}
  void Detach() { session_ = nullptr; }

 private:
  void Deliver(HttpResponse response) override {
    if (session_ != nullptr) session_->SendResponse(std::move(response));
  }

  Http1Session* session_;
};

Http1Session::Http1Session(PerLoop& per_loop, SessionHost& host, SharedBytes peer)
    : per_loop_(per_loop), host_(host), peer_(std::move(peer)) {
  EnterPhase(Phase::kIdle);
}

Http1Session::~Http1Session() {
  per_loop_.loop.Disarm(timer_);
  per_loop_.loop.Disarm(resume_timer_);
  if (answer_ != nullptr) answer_->Detach();
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
      return per_loop_.loop.Arm(timer_, now + per_loop_.options.http_body_timeout);
    case Phase::kHandling:
      return per_loop_.loop.Disarm(timer_);
  }
}

void Http1Session::OnTimer() {
  closing_ = true;
  host_.WantFlush();
}

void Http1Session::OnInput(std::string_view bytes) {
  if (closing_) return;
  input_.append(bytes);
  ParseInput();
}

void Http1Session::OnInputEnd() {
  // A client may close its half and still wait for the answer.
  input_ended_ = true;
  ParseInput();
}

bool Http1Session::pauses_input(bool blocked) const {
  // While a request is handled, or its answer not read, the next requests wait in the socket.
  return input_.size() > per_loop_.options.http_max_header_bytes &&
         (blocked || phase_ == Phase::kHandling);
}

std::size_t Http1Session::held_bytes() const {
  std::size_t held = 0;
  for (const SharedBytes& part : output_) held += part.size();
  return held;
}

void Http1Session::ParseInput() {
  while (!closing_ && phase_ != Phase::kHandling) {
    if (!ParseSome()) {
      if (!input_ended_) return;
      closing_ = true;  // the missing part will not come
      host_.WantFlush();
    }
  }
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
  if (!used) {
    Refuse(StatusOf(used.error()));
    return true;
  }
  input_.erase(0, *used);
  if (body_.size() > per_loop_.options.http_max_body_bytes) {
    Refuse(413);
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
  if (head.content_length.value_or(0) > per_loop_.options.http_max_body_bytes) return Refuse(413);
  if (const auto& refusal = parser_->refusal()) return Refuse(refusal->status, refusal->text);
  if (EqualsInAnyCase(head.Header("expect"), "100-continue") && !parser_->done()) {
    output_.push_back(SharedBytes::Static("HTTP/1.1 100 Continue\r\n\r\n"));
    host_.WantFlush();
  }
}

void Http1Session::Dispatch() {
  HttpHead head = parser_->TakeHead();
  parser_.reset();
  keep_alive_ = head.keep_alive;
  head_only_ = head.method == "HEAD";
  http_1_0_ = head.is_http_1_0;
  HttpRequest request{.method = std::move(head.method),
                      .target = std::move(head.target),
                      .headers = std::move(head.headers),
                      .body = SharedBytes::Own(std::exchange(body_, {})),
                      .peer = peer_,
                      .loop = &per_loop_.loop};
  EnterPhase(Phase::kHandling);
  answer_ = std::make_shared<Answer>(*this, per_loop_.loop);
  per_loop_.http(std::move(request), HttpReply(answer_));
}

void Http1Session::SendResponse(HttpResponse response) {
  answer_->Detach();
  answer_.reset();
  const std::size_t body_bytes = SizeBytes(response.body);
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, ReasonOf(response.status));
  for (const HttpHeader& header : response.headers)
    head += fmt::format("{}: {}\r\n", header.name, header.value);
  if (!response.content_type.empty())
    head += fmt::format("Content-Type: {}\r\n", response.content_type);
  head += fmt::format("Date: {}\r\nContent-Length: {}\r\n", HttpDate(), body_bytes);
  if (!keep_alive_ || closing_) {
    head += "Connection: close\r\n";
    closing_ = true;
  } else if (http_1_0_) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  output_.push_back(SharedBytes::Own(std::move(head)));
  if (!head_only_) {
    for (SharedBytes& part : response.body) {
      if (!part.empty()) output_.push_back(std::move(part));
    }
  }
  EnterPhase(Phase::kIdle);
  host_.WantFlush();
  // Produce begins the next request, not this one's handler.
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

void Http1Session::Produce(OutputBatch& batch) {
  while (!output_.empty() && !batch.full()) {
    batch.Append(output_.front());
    output_.pop_front();
  }
  const bool waits = !input_.empty() || input_ended_;
  if (output_.empty() && phase_ == Phase::kIdle && waits && !closing_) {
    // Pipelined requests, or the end: the next wake-up handles them, before its hooks.
    per_loop_.loop.Arm(resume_timer_, per_loop_.loop.now());
  }
}

void Http1Session::Drain() {
  keep_alive_ = false;
  if (phase_ != Phase::kHandling) closing_ = true;
  host_.WantFlush();
}

void Http1Session::CancelAll(const Error& reason) {
  if (answer_ != nullptr) SendResponse(HttpResponse::Text(503, reason.message + "\n"));
  closing_ = true;
  host_.WantFlush();
}

}  // namespace kvorum::rpc
