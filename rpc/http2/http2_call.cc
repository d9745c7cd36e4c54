// A call's path through an Http2Session: from its headers to its handler and back.
#include <nghttp2/nghttp2.h>

#include <array>
#include <utility>

#include "base/log/logging.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/http2/http2_session.h"
#include "rpc/http2/nghttp2_callbacks.h"
#include "rpc/io/pool_allocator.h"

namespace kvorum::rpc {
namespace {

// Longer error texts are cut, so that the trailers always fit a client's header limits.
constexpr std::size_t kMaxErrorTextBytes = 4096;

constexpr std::array<std::string_view, 17> kCodeTexts{
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};

nghttp2_nv StaticHeader(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

nghttp2_nv CopiedHeader(std::string_view name, std::string_view value) {
  nghttp2_nv header = StaticHeader(name, value);
  header.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;
  return header;
}

std::string_view AnswerContentType(bool plus_proto) {
  return plus_proto ? "application/grpc+proto" : "application/grpc";
}

}  // namespace

// ---- From the request to the handler ----

Call* Http2Session::NewCall(std::int32_t stream_id) {
  // The last GOAWAY has named the last stream: a client takes later ones for untouched, and repeats
  // their calls elsewhere.
  if (phase_ == Phase::kLast || ending()) return nullptr;
  if (waiting_.size() >= per_loop_.options.max_waiting_requests) return nullptr;
  head_.Clear();
  metadata_.Clear();
  auto call =
      std::allocate_shared<Call>(PoolAllocator<Call>(), *this, stream_id, per_loop_.loop.mailbox(),
                                 per_loop_.options.max_receive_message_bytes);
  call->set_loop(&per_loop_.loop);
  call->set_peer(peer_);
  if (certificate_name_.has_value()) call->set_certificate_name(*certificate_name_);
  call->set_started(per_loop_.loop.now());
  return &calls_.Add(std::move(call));
}

// The order of the refusals is grpc-go's.
void Http2Session::BeginCall(Call& call, bool remote_ended) {
  floods_.OnCall();
  const RequestHead& head = head_;
  call.set_metadata(metadata_.Pack());
  call.entry_ = head.entry;
  call.plus_proto_ = head.plus_proto;
  call.request_.set_stated_bytes(head.content_length);
  const bool is_whole = !remote_ended || call.request_.End();
  if (head.too_large) return RefuseStream(call, NGHTTP2_FRAME_SIZE_ERROR);
  if (head.authorities > 1 || head.hosts > 1)
    return Refuse(call, HostCountError(head.authorities, head.hosts), "400");
  if (head.IsMalformed(call) || !is_whole) return RefuseStream(call, NGHTTP2_PROTOCOL_ERROR);
  if (serves_ == Serves::kHttp) return BeginHttp(call, remote_ended);
  if (!head.is_grpc) {
    const bool is_http = head.wrong_content_type.find("application/grpc") == std::string::npos;
    if (is_http && serves_ == Serves::kGrpcAndHttp) return BeginHttp(call, remote_ended);
    return Refuse(call, ContentTypeError(head.wrong_content_type), "415");
  }
  if (head.error) return Refuse(call, *head.error, "400");
  if (head.method != RequestHead::HttpMethod::kPost)
    return Refuse(call, WrongHttpMethodError(head.wrong_http_method), "405");
  if (head.timeout) {
    if (head.timeout->count() == 0) return Refuse(call, DeadlineError(), "200");
    call.set_deadline(call.started() + *head.timeout);
  }
  if (call.entry_ == nullptr)
    return Refuse(call, per_loop_.router.MissingMethod(head.unknown_path), "200");
  if (!head.unknown_encoding.empty())
    return Refuse(call, MissingDecompressorError(head.unknown_encoding), "200");
  call.set_method(&call.entry_->info);
  if (head.is_gzip) call.request_.set_encoding(MessageReader::Encoding::kGzip);
  if (const std::size_t head_bytes = head.UnusualBytes(); head_bytes > 0) {
    call.request_.set_head_bytes(static_cast<std::uint32_t>(head_bytes));
    if (!CountBuffered(call)) return;
  }
  if (call.deadline()) per_loop_.loop.Arm(call, *call.deadline());
  if (call.entry_->info.kind != MethodKind::kUnary) {
    call.BecomeStream();
    return DispatchOrWait(call);
  }
  if (remote_ended) EndUnaryRequest(call);
}

void Http2Session::OnData(Call& call, std::string_view bytes) {
  // The connection's window is given back at once, so that one stalled stream stalls no other.
  nghttp2_session_consume_connection(session_, bytes.size());
  if (!call.request_.Receive(bytes.size())) return RefuseStream(call, NGHTTP2_PROTOCOL_ERROR);
  if (!call.decided()) floods_.OnData(bytes.size());
  if (call.decided() || call.entry_ == nullptr) {
    if (!call.decided() && call.http_ != nullptr) return OnHttpData(call, bytes);
    nghttp2_session_consume_stream(session_, call.stream_id_, bytes.size());
  } else if (!call.is_stream()) {
    OnUnaryData(call, bytes);
  } else {
    OnStreamData(call, bytes);
  }
}

void Http2Session::OnUnaryData(Call& call, std::string_view bytes) {
  nghttp2_session_consume_stream(session_, call.stream_id_, bytes.size());
  if (const auto taken = call.request_.Assemble(bytes); !taken) return Cancel(call, taken.error());
  CountBuffered(call);
}

void Http2Session::OnStreamData(Call& call, std::string_view bytes) {
  call.request_.Keep(bytes);
  if (!CountBuffered(call)) return;
  if (call.stream().has_reader()) ServeRead(call);
}

void Http2Session::OnRemoteEnd(Call& call) {
  const bool is_whole = call.request_.End();
  if (call.decided()) return;
  if (!is_whole) return RefuseStream(call, NGHTTP2_PROTOCOL_ERROR);
  if (call.http_ != nullptr)
    return call.http_->input != nullptr ? ServeHttpInput(call) : DispatchOrWait(call);
  if (call.entry_ == nullptr) return;
  if (!call.is_stream()) {
    EndUnaryRequest(call);
  } else if (call.stream().has_reader()) {
    ServeRead(call);
  }
}

void Http2Session::EndUnaryRequest(Call& call) {
  if (const auto finished = call.request_.Finish(); !finished)
    return Cancel(call, finished.error());
  DispatchOrWait(call);
}

void Http2Session::ServeRead(Call& call) {
  const auto used = call.request_.ReadOn();
  if (!used) return Cancel(call, used.error());
  nghttp2_session_consume_stream(session_, call.stream_id_, *used);
  if (nghttp2_session_want_write(session_) != 0) host_.WantFlush();
  if (!CountBuffered(call)) return;
  const auto next = call.request_.Look(call.entry_->info.kind == MethodKind::kServerStream);
  if (!next) return Cancel(call, next.error());
  switch (*next) {
    case RequestBody::Next::kUnknown:
      return;
    case RequestBody::Next::kEnd:
      return call.stream().RunReader(std::nullopt);
    case RequestBody::Next::kMessage: {
      SharedBytes message = call.request_.TakeNext();
      CountBuffered(call);
      per_loop_.router.CountMessages(call.entry_->info, 1, 0);
      return call.stream().RunReader(std::optional(std::move(message)));
    }
  }
}

bool Http2Session::CountBuffered(Call& call) {
  const bool fits = held_.Count(call.request_);
  if (held_.requests_count()) host_.CountHeld();
  if (!fits) Cancel(call, BufferedRequestsError());
  return fits;
}

void Http2Session::DispatchOrWait(Call& call) {
  if (waiting_.empty() && held_.MayStart()) return Dispatch(call);
  call.waiting_ = true;
  CountBuffered(call);
  waiting_.push_back(call.owner());
}

void Http2Session::DispatchWaiting() {
  while (!waiting_.empty() && held_.MayStart()) {
    const std::shared_ptr<Call> call = std::move(waiting_.front());
    waiting_.pop_front();
    call->waiting_ = false;
    if (!call->decided()) Dispatch(*call);
  }
}

void Http2Session::Dispatch(Call& call) {
  if (call.http_ != nullptr) return DispatchHttp(call);
  call.dispatched_ = true;
  if (per_loop_.router.start_hook()) per_loop_.router.start_hook()(call);
  std::shared_ptr<Call> shared = call.owner();
  if (!call.is_stream()) {
    SharedBytes request = call.request_.Take();
    CountBuffered(call);
    call.entry_->unary(shared, std::move(request), UnaryReply(shared));
  } else {
    call.entry_->stream(std::make_shared<StreamHandle>(std::move(shared)));
  }
}

// ---- From the answer to the client ----

void Http2Session::Answer(Call& call, Error status, SharedBytes first, ByteChain rest) {
  if (status.code == Code::kOk) {
    const std::size_t held_bytes = first.size() + SizeBytes(rest);
    const std::size_t size_bytes = held_bytes + call.to_come_bytes();
    if (size_bytes > per_loop_.options.max_send_message_bytes) {
      status = AnswerSizeError(size_bytes, per_loop_.options.max_send_message_bytes);
    } else if (!held_.HasRoomFor(held_bytes)) {
      status = UnsentAnswersError();
    } else {
      Send(call, std::move(first), std::move(rest));
    }
    if (status.code != Code::kOk) call.pieces_.reset();
  }
  Decide(call, std::move(status));
  if (!call.answer_body_.passing()) return SubmitTrailers(call);
  AskForPiece(call);
}

void Http2Session::AskForPiece(Call& call) {
  if (call.pieces_ == nullptr || !call.pieces_->WantsMore(call.buffered_bytes())) return;
  call.pieces_->Ask([call = call.owner()](Result<AnswerPiece> piece) {
    call->pieces_->Put(std::move(piece));
    call->Push();
  });
}

void Http2Session::TakePiece(Call& call, Result<AnswerPiece> made) {
  auto piece = call.pieces_->Accept(std::move(made));
  if (!piece.has_value()) return BreakOff(call, piece.error());
  const std::size_t unsent = call.buffered_bytes();
  call.answer_body_.Add(std::move(piece->bytes));
  held_.AddUnsent(call.buffered_bytes() - unsent);
  nghttp2_session_resume_data(session_, call.stream_id_);  // does nothing if it did not wait
  host_.WantFlush();
  AskForPiece(call);
}

void Http2Session::BreakOff(Call& call, const Error& reason) {
  KV_WARN("broke off a large answer", {"remote-addr", peer_.view()}, {"error", reason.message});
  call.pieces_->BreakOff();
  // Clients translate ENHANCE_YOUR_CALM to ResourceExhausted.
  Reset(call, reason.code == Code::kResourceExhausted ? NGHTTP2_ENHANCE_YOUR_CALM
                                                      : NGHTTP2_INTERNAL_ERROR);
}

void Http2Session::FinishStream(Call& call, const Error& status) {
  if (call.answer_body_.passing()) {
    call.status_ = status;
    call.ending_ = Call::Ending::kFinishWaits;
  } else {
    Decide(call, status);
    SubmitTrailers(call);
  }
  if (call.stream().has_reader()) call.stream().RunReader(Fail(CanceledError()));
}

void Http2Session::Cut(Call& call, const Error& reason) {
  call.CallContext::Cancel(reason);
  if (call.answer_body_.passing()) {
    call.status_ = reason;
    call.ending_ = Call::Ending::kCutWaits;
  } else {
    Decide(call, reason);
    SubmitTrailers(call);
  }
  call.stream().FailAll(reason);
}

void Http2Session::Expire(Call& call) { Cancel(call, DeadlineError()); }

void Http2Session::Decide(Call& call, Error status) {
  call.ending_ = Call::Ending::kDecided;
  call.status_ = std::move(status);
  per_loop_.loop.Disarm(call);
  if (call.is_stream()) call.request_.DropKept();
  held_.Forget(call.request_);
  RunEndHook(call);
  call.Done();
}

void Http2Session::Cancel(Call& call, Error reason) {
  if (call.decided()) return;
  if (call.http_ != nullptr) return CancelHttp(call, reason);
  call.ending_ = Call::Ending::kDecided;
  call.status_ = std::move(reason);
  per_loop_.loop.Disarm(call);
  held_.Forget(call.request_);
  RunEndHook(call);
  if (call.answer_body_.passing()) {
    Reset(call, NGHTTP2_CANCEL);  // a message cannot be broken off in any other way
  } else {
    SubmitTrailers(call);
  }
  const std::shared_ptr<Call> keep = call.owner();
  call.CallContext::Cancel(call.status_);
  if (call.is_stream()) call.stream().FailAll(call.status_);
}

void Http2Session::RunEndHook(Call& call) {
  if (!call.dispatched_ || !per_loop_.router.end_hook()) return;
  per_loop_.router.end_hook()(call, {.code = call.status_.code,
                                     .message = call.status_.message,
                                     .duration = per_loop_.loop.now() - call.started(),
                                     .received_messages = call.request_.messages(),
                                     .received_bytes = call.request_.message_bytes(),
                                     .sent_messages = call.answer_body_.messages(),
                                     .sent_bytes = call.answer_body_.message_bytes()});
}

void Http2Session::SendMessage(Call& call, ByteChain message) {
  const std::size_t size_bytes = SizeBytes(message);
  if (size_bytes > per_loop_.options.max_send_message_bytes)
    return Cancel(call,
                  MessageToSendSizeError(size_bytes, per_loop_.options.max_send_message_bytes));
  per_loop_.router.CountMessages(call.entry_->info, 0, 1);
  Send(call, {}, std::move(message));
}

void Http2Session::Send(Call& call, SharedBytes first, ByteChain rest) {
  floods_.OnMessagesSent(1);
  BeginResponse(call);
  call.answer_body_.Begin(std::move(first), std::move(rest), call.to_come_bytes());
  SubmitUnsent(call);
}

void Http2Session::SendFrames(Call& call, ByteChain frames, std::size_t messages) {
  floods_.OnMessagesSent(messages);
  BeginResponse(call);
  if (call.entry_ != nullptr) per_loop_.router.CountMessages(call.entry_->info, 0, messages);
  call.answer_body_.BeginFramed(std::move(frames), messages);
  SubmitUnsent(call);
}

void Http2Session::SubmitUnsent(Call& call) {
  held_.AddUnsent(call.buffered_bytes());
  if (held_.unsent_counts()) host_.CountHeld();
  SubmitMessage(session_, call.stream_id_, call);
  host_.WantFlush();
}

void Http2Session::BeginResponse(Call& call) {
  if (call.response_begun_) return;
  call.response_begun_ = true;
  const std::array<nghttp2_nv, 2> headers{
      StaticHeader(":status", "200"),
      StaticHeader("content-type", AnswerContentType(call.plus_proto_))};
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, call.stream_id_, nullptr, headers.data(),
                         headers.size(), nullptr);
}

void Http2Session::SubmitTrailers(Call& call) {
  if (call.http_ != nullptr) return EndHttpBody(call);
  std::array<nghttp2_nv, 4> headers;
  std::size_t count = 0;
  if (!call.response_begun_) {
    headers[count++] = StaticHeader(":status", "200");
    headers[count++] = StaticHeader("content-type", AnswerContentType(call.plus_proto_));
  }
  headers[count++] =
      StaticHeader("grpc-status", kCodeTexts[static_cast<std::size_t>(call.status_.code)]);
  std::string text;
  if (!call.status_.message.empty()) {
    text = PercentEncode(std::string_view(call.status_.message).substr(0, kMaxErrorTextBytes));
    headers[count++] = CopiedHeader("grpc-message", text);
  }
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_END_STREAM, call.stream_id_, nullptr,
                         headers.data(), count, nullptr);
  host_.WantFlush();
}

void Http2Session::Refuse(Call& call, Error status, std::string_view http_status) {
  call.ending_ = Call::Ending::kDecided;
  call.response_begun_ = true;
  call.status_ = std::move(status);
  const std::string text =
      PercentEncode(std::string_view(call.status_.message).substr(0, kMaxErrorTextBytes));
  const std::array<nghttp2_nv, 4> headers{
      StaticHeader(":status", http_status),
      StaticHeader("content-type", AnswerContentType(call.plus_proto_)),
      StaticHeader("grpc-status", kCodeTexts[static_cast<std::size_t>(call.status_.code)]),
      CopiedHeader("grpc-message", text)};
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_END_STREAM, call.stream_id_, nullptr,
                         headers.data(), headers.size(), nullptr);
  host_.WantFlush();
}

void Http2Session::RefuseStream(Call& call, std::uint32_t error_code) {
  Reset(call, error_code);
  if (call.decided()) return;
  call.ending_ = Call::Ending::kDecided;
  call.status_ = CanceledError();
  per_loop_.loop.Disarm(call);
  held_.Forget(call.request_);
  RunEndHook(call);
  const std::shared_ptr<Call> keep = call.owner();
  call.CallContext::Cancel(call.status_);
  if (call.is_stream()) call.stream().FailAll(call.status_);
}

void Http2Session::Reset(Call& call, std::uint32_t error_code) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.stream_id_, error_code);
  host_.WantFlush();
}

void Http2Session::AppendMessage(Call& call, std::size_t size_bytes) {
  floods_.OnBytesSent(size_bytes);
  held_.SubtractUnsent(size_bytes);
  call.answer_body_.MoveTo(*batch_, size_bytes);
  if (call.to_come_bytes() > 0) return AskForPiece(call);
  if (call.buffered_bytes() == 0) OnMessageSent(call);
}

void Http2Session::OnMessageSent(Call& call) {
  call.answer_body_.End();
  if (call.finish_waits()) Decide(call, std::move(call.status_));
  if (call.decided() && !call.has_whole_http_answer()) SubmitTrailers(call);
  // The handler learns of it in the next wake-up: this one's hooks have run.
  if (call.is_stream() && call.stream().has_writer()) call.Push();
}

void Http2Session::Detach(Call& call) {
  const std::shared_ptr<Call> keep = calls_.Remove(call);
  // An answer that has not begun may just be made by another thread.
  if (call.response_begun_ && call.pieces_ != nullptr) call.pieces_->BreakOff();
  if (std::exchange(call.waiting_, false)) std::erase(waiting_, keep);
  held_.SubtractUnsent(call.answer_body_.Drop());
  held_.Forget(call.request_);
  per_loop_.loop.Disarm(call);
  call.session_ = nullptr;
  if (call.http_ != nullptr) DetachHttpInput(call);
  if (!call.decided()) {
    call.ending_ = Call::Ending::kDecided;
    call.status_ = CanceledError();
    RunEndHook(call);
    call.CallContext::Cancel(call.status_);
  }
  if (call.is_stream())
    call.stream().FailAll(call.status_.code == Code::kOk ? CanceledError() : call.status_);
  // The handler may have left work for hooks that have already run, if this is a flush.
  if (batch_ != nullptr) per_loop_.loop.StayAwake();
}

}  // namespace kvorum::rpc
