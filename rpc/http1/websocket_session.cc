#include "rpc/http1/websocket_session.h"

#include <wslay/wslay.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/http/loop_http_sink.h"

namespace kvorum::rpc {
namespace {

// Registered with RFC 6455's codes.
constexpr std::uint16_t kTryAgainLater = 1013;

const std::uint8_t* BytesOf(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace

class WebSocketSession::Answer final : public LoopHttpBody {
 public:
  Answer(WebSocketSession& session, Loop& loop) : LoopHttpBody(loop), session_(&session) {}

  // The answer is complete.
  void Detach() { session_ = nullptr; }
  // The client has left.
  void OnEnd() {
    session_ = nullptr;
    OnClientEnd();
    Tell(Fail(CanceledError()));
  }

  void Hold(std::size_t bytes) override {
    if (session_ == nullptr) return;
    session_->handler_bytes_ = bytes;
    session_->host_.CountHeld();
  }
  std::shared_ptr<HttpBody> Begin(HttpResponse /*head*/) override {
    if (session_ == nullptr) return nullptr;
    return std::static_pointer_cast<Answer>(shared_from_this());
  }
  void Write(ByteChain bytes, Written written) override {
    set_written(std::move(written));
    if (session_ == nullptr) return Tell(Fail(CanceledError()));
    for (const SharedBytes& part : bytes) session_->SendLines(part.view());
  }
  void End() override {
    if (session_ != nullptr) session_->EndAnswer();
  }

 private:
  void Deliver(HttpResponse response) override {
    if (session_ == nullptr) return;
    for (const SharedBytes& part : response.body) session_->SendLines(part.view());
    session_->EndAnswer();
  }

  WebSocketSession* session_;
};

struct WebSocketSession::Callbacks {
  static WebSocketSession& Self(void* user_data) {
    return *static_cast<WebSocketSession*>(user_data);
  }

  static ssize_t Receive(wslay_event_context* frames, std::uint8_t* into, std::size_t room,
                         int /*flags*/, void* user_data) {
    WebSocketSession& self = Self(user_data);
    if (self.input_.empty() || self.body_->is_full()) {
      wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
      return -1;
    }
    const std::size_t size = std::min(room, self.input_.size());
    std::copy_n(self.input_.data(), size, into);
    self.input_.erase(0, size);
    return static_cast<ssize_t>(size);
  }
  static ssize_t Send(wslay_event_context* frames, const std::uint8_t* data, std::size_t size,
                      int /*flags*/, void* user_data) {
    OutputBatch* const batch = Self(user_data).batch_;
    if (batch == nullptr || batch->full()) {
      wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
      return -1;
    }
    batch->Append(std::string_view(reinterpret_cast<const char*>(data), size));
    return static_cast<ssize_t>(size);
  }
  static void OnChunk(wslay_event_context* /*frames*/,
                      const wslay_event_on_frame_recv_chunk_arg* chunk, void* user_data) {
    WebSocketSession& self = Self(user_data);
    if (self.in_control_) return;
    self.message_.append(reinterpret_cast<const char*>(chunk->data), chunk->data_length);
  }
  static void OnFrame(wslay_event_context* frames, const wslay_event_on_frame_recv_start_arg* frame,
                      void* user_data) {
    WebSocketSession& self = Self(user_data);
    self.in_control_ = wslay_is_ctrl_frame(frame->opcode) != 0;
    if (self.in_control_) return;
    const Options& options = self.per_loop_.options;
    if (frame->payload_length > options.http_max_body_bytes - self.message_.size()) {
      wslay_event_queue_close(frames, WSLAY_CODE_MESSAGE_TOO_BIG, nullptr, 0);
      wslay_event_shutdown_read(frames);
    } else if (!self.timer_.armed()) {
      self.per_loop_.loop.Arm(self.timer_, self.per_loop_.loop.now() + options.http_body_timeout);
    }
  }
  static void OnMessage(wslay_event_context* /*frames*/, const wslay_event_on_msg_recv_arg* message,
                        void* user_data) {
    if (wslay_is_ctrl_frame(message->opcode) == 0) Self(user_data).OnMessageEnd();
  }
};

WebSocketSession::WebSocketSession(PerLoop& per_loop, SessionHost& host)
    : per_loop_(per_loop), host_(host) {
  body_ = std::make_shared<OpenBody>(per_loop_.loop, [this] {
    if (!input_.empty()) per_loop_.loop.Arm(resume_timer_, per_loop_.loop.now());
    host_.WantFlush();  // the socket may be read again
  });
  const wslay_event_callbacks callbacks{.recv_callback = Callbacks::Receive,
                                        .send_callback = Callbacks::Send,
                                        .genmask_callback = nullptr,
                                        .on_frame_recv_start_callback = Callbacks::OnFrame,
                                        .on_frame_recv_chunk_callback = Callbacks::OnChunk,
                                        .on_frame_recv_end_callback = nullptr,
                                        .on_msg_recv_callback = Callbacks::OnMessage};
  KV_CHECK(wslay_event_context_server_init(&frames_, &callbacks, this) == 0, "out of memory");
  wslay_event_config_set_no_buffering(frames_, 1);
  // OnFrame has the bound: wslay's own is that of messages which it keeps.
  wslay_event_config_set_max_recv_msg_length(frames_, UINT64_MAX);
}

WebSocketSession::~WebSocketSession() {
  per_loop_.loop.Disarm(timer_);
  per_loop_.loop.Disarm(resume_timer_);
  body_->Fail(CanceledError());
  if (answer_ != nullptr) answer_->OnEnd();
  wslay_event_context_free(frames_);
}

HttpUpgrade WebSocketSession::Begin() {
  answer_ = std::make_shared<Answer>(*this, per_loop_.loop);
  return {.input = body_, .reply = std::make_unique<HttpReply>(answer_)};
}

void WebSocketSession::OnInput(std::string_view bytes) {
  if (closing_) return;
  input_.append(bytes);
  ReadFrames();
}

void WebSocketSession::ReadFrames() {
  // A failure is out of memory, or a fault that has queued its close frame.
  const bool failed = wslay_event_recv(frames_) != 0;
  if (failed || wslay_event_get_read_enabled(frames_) == 0 ||
      wslay_event_get_close_received(frames_) != 0)
    return HangUp();
  if (message_.size() >= AnswerMemory::kStepBytes) {
    host_.CountHeld();
    if (per_loop_.answers.exhausted()) {
      wslay_event_queue_close(frames_, kTryAgainLater, nullptr, 0);
      return HangUp();
    }
  }
  if (wslay_event_want_write(frames_) != 0) host_.WantFlush();
}

void WebSocketSession::OnMessageEnd() {
  per_loop_.loop.Disarm(timer_);
  message_ += '\n';
  body_->Put(std::exchange(message_, {}));
}

void WebSocketSession::OnInputEnd() { HangUp(); }

void WebSocketSession::OnTimer() {
  wslay_event_queue_close(frames_, WSLAY_CODE_POLICY_VIOLATION, nullptr, 0);
  HangUp();
}

void WebSocketSession::HangUp() {
  closing_ = true;
  input_.clear();
  per_loop_.loop.Disarm(timer_);
  body_->Fail(CanceledError());
  if (answer_ != nullptr) std::exchange(answer_, nullptr)->OnEnd();
  host_.WantFlush();
}

void WebSocketSession::SendLines(std::string_view bytes) {
  host_.WantFlush();
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    SendText(std::exchange(line_, {}));
  }
}

// An empty line is not a message.
void WebSocketSession::SendText(std::string_view text) {
  if (text.empty()) return;
  const wslay_event_msg message{
      .opcode = WSLAY_TEXT_FRAME, .msg = BytesOf(text), .msg_length = text.size()};
  wslay_event_queue_msg(frames_, &message);
}

void WebSocketSession::EndAnswer() {
  SendText(std::exchange(line_, {}));
  answer_->Detach();
  answer_.reset();
  HangUp();
}

void WebSocketSession::CancelAll(const Error& /*reason*/) {
  wslay_event_queue_close(frames_, WSLAY_CODE_GOING_AWAY, nullptr, 0);
  HangUp();
}

void WebSocketSession::Produce(OutputBatch& batch) {
  batch_ = &batch;
  wslay_event_send(frames_);
  batch_ = nullptr;
  if (wslay_event_want_write(frames_) == 0 && answer_ != nullptr) answer_->OnOutputTaken();
}

bool WebSocketSession::ended() const { return closing_ && wslay_event_want_write(frames_) == 0; }

bool WebSocketSession::pauses_input(bool blocked) const {
  // A message read now would be answered, or kept for a handler that waits for its client.
  return blocked || body_->is_full();
}

std::size_t WebSocketSession::held_bytes() const {
  return input_.size() + message_.size() + line_.size() + body_->held_bytes() + handler_bytes_ +
         wslay_event_get_queued_msg_length(frames_);
}

}  // namespace kvorum::rpc
