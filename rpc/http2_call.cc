// A call's path through an Http2Session: from its headers to its handler and back.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include "base/logging.h"
#include "rpc/grpc_protocol.h"
#include "rpc/http2_rules.h"
#include "rpc/http2_session.h"
#include "rpc/nghttp2_callbacks.h"
#include "rpc/pool_allocator.h"

namespace kvorum::rpc {
namespace {

// HPACK's overhead per header for SETTINGS_MAX_HEADER_LIST_SIZE (RFC 7540, section 6.5.2).
constexpr std::size_t kHeaderOverheadBytes = 32;
// Longer error texts are cut, so that the trailers always fit a client's header limits.
constexpr std::size_t kMaxErrorTextBytes = 4096;
// The next piece of a large answer is requested when less than this is left of the previous ones.
constexpr std::size_t kAskBytes = 256 * 1024;
// While there is no memory for more answers: the bound of a connection's unsent ones, and the size
// of an answer that it gets all the same.
constexpr std::size_t kUnsentWhenFull = 1024 * 1024;
constexpr std::size_t kSmallAnswerBytes = 4096;
// Header blocks up to this size count as part of the call.
constexpr std::size_t kOrdinaryHeadBytes = 2048;
// An inbox of this size is freed once it is empty.
constexpr std::size_t kKeepInboxBytes = 4096;

// The length of a body whose length was not stated.
constexpr std::uint64_t kAnyLength = std::numeric_limits<std::uint64_t>::max();

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
  if (waiting_.size() >= per_loop_.options.max_waiting_requests || close_when_sent_ || hanging_up_)
    return nullptr;
  head_ = {};
  auto call =
      std::allocate_shared<Call>(PoolAllocator<Call>(), *this, stream_id, per_loop_.loop.mailbox(),
                                 per_loop_.options.max_receive_message_bytes);
  call->set_loop(&per_loop_.loop);
  call->set_peer(peer_);
  if (certificate_name_.has_value()) call->set_certificate_name(*certificate_name_);
  call->set_started(per_loop_.loop.now());
  Call* raw = call.get();
  raw->next_ = calls_;
  if (calls_ != nullptr) calls_->previous_ = raw;
  calls_ = raw;
  ++call_count_;
  raw->attached_ = std::move(call);
  return raw;
}

void Http2Session::OnHeader(Call& call, std::string_view name, std::string_view value) {
  Head& head = head_;
  head.list_bytes += name.size() + value.size() + kHeaderOverheadBytes;
  if (head.list_bytes > per_loop_.options.max_header_list_bytes) head.too_large = true;
  if (head.too_large || head.malformed) return;
  if (!IsValidHeaderValue(value)) {
    head.malformed = true;
  } else if (name.starts_with(':')) {
    OnPseudoHeader(call, name, value);
  } else {
    head.regular_seen = true;
    if (OnProtocolHeader(call, name, value)) return;
    if (!IsValidHeaderName(name)) {
      head.malformed = true;
    } else if (name.ends_with("-bin")) {
      if (auto decoded = DecodeBinaryMetadata(name, value)) {
        call.AddMetadata(name, *decoded);
      } else if (!head.error) {
        head.error = std::move(decoded).error();
      }
    } else {
      call.AddMetadata(name, value);
    }
  }
}

void Http2Session::OnTrailer(std::string_view name, std::string_view value) {
  Head& head = head_;
  head.list_bytes += name.size() + value.size() + kHeaderOverheadBytes;
  if (head.list_bytes > per_loop_.options.max_header_list_bytes) head.too_large = true;
  // No pseudo header has a valid field name.
  head.malformed |=
      !IsValidHeaderName(name) || !IsValidHeaderValue(value) || IsConnectionField(name);
}

void Http2Session::OnPseudoHeader(Call& call, std::string_view name, std::string_view value) {
  Head& head = head_;
  head.malformed |= head.regular_seen;
  if (name == ":path") {
    head.malformed |= std::exchange(head.path_seen, true) || value.empty();
    call.entry_ = per_loop_.router.Find(value);
    if (call.entry_ == nullptr) head.unknown_path = value;
  } else if (name == ":method") {
    head.malformed |= std::exchange(head.method_seen, true);
    head.is_post = value == "POST";
    if (!head.is_post) head.wrong_http_method = value;
  } else if (name == ":authority") {
    ++head.authorities;
    call.AddMetadata(name, value);
  } else if (name == ":scheme") {
    head.malformed |= std::exchange(head.scheme_seen, true) || !IsScheme(value);
    head.is_https = value == "https";
  } else {
    head.malformed = true;
  }
}

bool Http2Session::OnProtocolHeader(Call& call, std::string_view name, std::string_view value) {
  Head& head = head_;
  if (IsConnectionField(name)) {
    head.malformed = true;
    return true;
  }
  switch (name.size()) {
    case 2:
      if (name != "te") return false;
      head.malformed |= !IsAllowedTe(value);
      return true;
    case 4:
      if (name != "host") return false;
      ++head.hosts;
      return false;  // and it is metadata
    case 11:
      return name == "grpc-status";
    case 12:
      if (name == "content-type") {
        const auto subtype = ContentSubtype(value);
        if (subtype) {
          head.is_grpc = true;
          call.plus_proto_ = *subtype == "proto";
        } else {
          head.wrong_content_type = value;
        }
        return true;
      }
      if (name == "grpc-timeout") {
        if (auto timeout = ParseTimeout(value)) {
          head.timeout = *timeout;
        } else {
          head.error = std::move(timeout).error();
        }
        return true;
      }
      return name == "grpc-message";
    case 13:
      if (name != "grpc-encoding") return false;
      if (value == "gzip") {
        call.reader_.set_encoding(MessageReader::Encoding::kGzip);
      } else if (value != "identity" && !value.empty()) {
        head.unknown_encoding = value;
      }
      return true;
    case 14:
      if (name != "content-length") return false;
      head.malformed |= call.content_length_.has_value();
      call.content_length_ = ParseContentLength(value);
      head.malformed |= !call.content_length_.has_value();
      return false;  // and it is metadata
    case 17:
      return name == "grpc-message-type";
    case 20:
      return name == "grpc-accept-encoding";
    default:  // a length from the wire
      return false;
  }
}

bool Http2Session::IsMalformed(const Call& call) const {
  const Head& head = head_;
  if (head.malformed || !head.method_seen) return true;
  // CONNECT has none, and is refused for its method.
  const bool is_connect = head.wrong_http_method == "CONNECT";
  if (!is_connect && (!head.scheme_seen || !head.path_seen)) return true;
  if (call.remote_ended_ && call.content_length_.value_or(0) > 0) return true;
  if (head.authorities == 0 || head.hosts == 0) return false;
  return !IsSameHost(call.Metadata("host").value_or(""), call.Metadata(":authority").value_or(""),
                     head.is_https);
}

// The order of the refusals is grpc-go's.
void Http2Session::BeginCall(Call& call, bool remote_ended) {
  const Head& head = head_;
  call.remote_ended_ = remote_ended;
  if (head.too_large) return RefuseStream(call, NGHTTP2_FRAME_SIZE_ERROR);
  if (head.authorities > 1 || head.hosts > 1)
    return Refuse(call, HostCountError(head.authorities, head.hosts), "400");
  if (IsMalformed(call)) return RefuseStream(call, NGHTTP2_PROTOCOL_ERROR);
  if (!head.is_grpc) {
    const bool is_http = head.wrong_content_type.find("application/grpc") == std::string::npos;
    if (is_http && serves_ == Serves::kGrpcAndHttp) return BeginHttp(call, remote_ended);
    return Refuse(call, ContentTypeError(head.wrong_content_type), "415");
  }
  if (head.error) return Refuse(call, *head.error, "400");
  if (!head.is_post) return Refuse(call, WrongHttpMethodError(head.wrong_http_method), "405");
  if (head.timeout) {
    if (head.timeout->count() == 0) return Refuse(call, DeadlineError(), "200");
    call.set_deadline(call.started() + *head.timeout);
  }
  if (call.entry_ == nullptr)
    return Refuse(call, per_loop_.router.MissingMethod(head.unknown_path), "200");
  if (!head.unknown_encoding.empty())
    return Refuse(call, MissingDecompressorError(head.unknown_encoding), "200");
  call.set_method(&call.entry_->info);
  if (head.list_bytes > kOrdinaryHeadBytes) {
    call.head_bytes_ = head.list_bytes;
    if (!CountBuffered(call)) return;
  }
  if (call.deadline()) per_loop_.loop.Arm(call, *call.deadline());
  if (call.entry_->info.kind != MethodKind::kUnary) {
    call.stream_ = std::make_unique<Call::StreamSide>();
    return DispatchOrWait(call);
  }
  if (remote_ended) EndUnaryRequest(call);
}

void Http2Session::OnData(Call& call, std::string_view bytes) {
  // The connection's window is given back at once, so that one stalled stream stalls no other.
  nghttp2_session_consume_connection(session_, bytes.size());
  call.end_.received_bytes += bytes.size();
  if (call.end_.received_bytes > call.content_length_.value_or(kAnyLength))
    return RefuseStream(call, NGHTTP2_PROTOCOL_ERROR);
  if (call.decided_ || call.entry_ == nullptr) {
    if (!call.decided_ && call.http_ != nullptr) return OnHttpData(call, bytes);
    nghttp2_session_consume_stream(session_, call.stream_id_, bytes.size());
  } else if (call.stream_ == nullptr) {
    OnUnaryData(call, bytes);
  } else {
    OnStreamData(call, bytes);
  }
}

void Http2Session::OnUnaryData(Call& call, std::string_view bytes) {
  nghttp2_session_consume_stream(session_, call.stream_id_, bytes.size());
  if (bytes.empty()) return;
  if (call.reader_.complete()) return Cancel(call, ManyRequestsError());
  const auto used = call.reader_.Feed(bytes);
  if (!used) return Cancel(call, used.error());
  if (*used < bytes.size()) return Cancel(call, ManyRequestsError());
  CountBuffered(call);
}

void Http2Session::OnStreamData(Call& call, std::string_view bytes) {
  call.stream_->inbox.append(bytes);
  if (!CountBuffered(call)) return;
  if (call.stream_->read_callback) ServeRead(call);
}

void Http2Session::OnRemoteEnd(Call& call) {
  call.remote_ended_ = true;
  if (call.decided_) return;
  if (call.end_.received_bytes != call.content_length_.value_or(call.end_.received_bytes))
    return RefuseStream(call, NGHTTP2_PROTOCOL_ERROR);
  if (call.http_ != nullptr) return DispatchOrWait(call);
  if (call.entry_ == nullptr) return;
  if (call.stream_ == nullptr) {
    EndUnaryRequest(call);
  } else if (call.stream_->read_callback) {
    ServeRead(call);
  }
}

void Http2Session::EndUnaryRequest(Call& call) {
  if (!call.reader_.complete()) {
    return Cancel(call, call.reader_.held_bytes() == 0 ? NoRequestError() : UnexpectedEndError());
  }
  call.request_ = call.reader_.Take();
  ++call.end_.received_messages;
  DispatchOrWait(call);
}

bool Http2Session::FeedReader(Call& call) {
  const std::size_t before = call.stream_->inbox_used;
  while (!call.reader_.complete() && call.stream_->inbox_used < call.stream_->inbox.size()) {
    const auto used =
        call.reader_.Feed(std::string_view(call.stream_->inbox).substr(call.stream_->inbox_used));
    if (!used) {
      Cancel(call, used.error());
      return false;
    }
    call.stream_->inbox_used += *used;
  }
  nghttp2_session_consume_stream(session_, call.stream_id_, call.stream_->inbox_used - before);
  if (call.stream_->inbox_used == call.stream_->inbox.size()) {
    call.stream_->inbox.clear();
    call.stream_->inbox_used = 0;
    if (call.stream_->inbox.capacity() > kKeepInboxBytes) call.stream_->inbox.shrink_to_fit();
  }
  if (nghttp2_session_want_write(session_) != 0) host_.WantFlush();
  return CountBuffered(call);
}

void Http2Session::ServeRead(Call& call) {
  if (!FeedReader(call)) return;
  // A method with a single request answers only when it is certain that there is no other.
  const bool single = call.entry_->info.kind == MethodKind::kServerStream;
  if (call.reader_.complete()) {
    if (single && call.stream_->inbox_used < call.stream_->inbox.size())
      return Cancel(call, ManyRequestsError());
    if (single && !call.remote_ended_) return;
    SharedBytes message = call.reader_.Take();
    ++call.end_.received_messages;
    CountBuffered(call);
    return call.RunRead(std::optional(std::move(message)));
  }
  if (!call.remote_ended_) return;
  if (call.reader_.held_bytes() > 0) return Cancel(call, UnexpectedEndError());
  if (single && call.end_.received_messages == 0) return Cancel(call, NoRequestError());
  call.RunRead(std::nullopt);
}

bool Http2Session::CountBuffered(Call& call) {
  std::size_t holds =
      call.reader_.held_bytes() + call.request_.size() + call.inbox_.size() + call.head_bytes_;
  if (call.stream_ != nullptr) holds += call.stream_->inbox.size() - call.stream_->inbox_used;
  buffered_bytes_ += holds;
  buffered_bytes_ -= std::exchange(call.counted_bytes_, holds);
  if (buffered_bytes_ >= AnswerMemory::kStepBytes) host_.CountHeld();
  if (buffered_bytes_ <= per_loop_.options.max_buffered_request_bytes) return true;
  Cancel(call, BufferedRequestsError());
  return false;
}

// A connection that holds next to nothing is served whatever the others hold.
bool Http2Session::MayDispatch(std::uint64_t max_unsent_bytes) const {
  return unsent_bytes_ <= max_unsent_bytes &&
         (unsent_bytes_ < AnswerMemory::kStepBytes || !per_loop_.answers.full());
}

void Http2Session::DispatchOrWait(Call& call) {
  if (waiting_.empty() && MayDispatch(per_loop_.options.max_unsent_bytes)) return Dispatch(call);
  call.waiting_ = true;
  CountBuffered(call);
  waiting_.push_back(call.attached_);
}

void Http2Session::DispatchWaiting() {
  while (!waiting_.empty() && MayDispatch(per_loop_.options.max_unsent_bytes)) {
    const std::shared_ptr<Call> call = std::move(waiting_.front());
    waiting_.pop_front();
    call->waiting_ = false;
    if (!call->decided_) Dispatch(*call);
  }
}

void Http2Session::Dispatch(Call& call) {
  if (call.http_ != nullptr) return DispatchHttp(call);
  call.dispatched_ = true;
  if (per_loop_.router.start_hook()) per_loop_.router.start_hook()(call);
  std::shared_ptr<Call> shared = call.attached_;
  if (call.stream_ == nullptr) {
    SharedBytes request = std::exchange(call.request_, {});
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
    } else if (unsent_bytes_ > kUnsentWhenFull && held_bytes > kSmallAnswerBytes &&
               per_loop_.answers.full()) {
      // It was started when there was still room.
      status = UnsentAnswersError();
    } else {
      Send(call, std::move(first), std::move(rest));
    }
    if (status.code != Code::kOk) call.pieces_.reset();
  }
  Decide(call, std::move(status));
  if (!call.sending_) return SubmitTrailers(call);
  AskForPiece(call);
}

void Http2Session::AskForPiece(Call& call) {
  if (call.to_come_bytes() == 0 || call.buffered_bytes() >= kAskBytes) return;
  if (call.pieces_->asked || call.pieces_->rest == nullptr) return;  // null: broken off
  call.pieces_->asked = true;
  call.pieces_->rest->MakeNext([call = call.attached_](Result<AnswerPiece> piece) {
    call->pieces_->made = std::move(piece);
    call->Push();
  });
}

void Http2Session::TakePiece(Call& call, Result<AnswerPiece> piece) {
  call.pieces_->asked = false;
  if (!piece.has_value()) return BreakOff(call, piece.error());
  const std::size_t size_bytes = SizeBytes(piece->bytes);
  if (size_bytes == 0 || size_bytes > call.pieces_->to_come_bytes)
    return BreakOff(call, {Code::kInternal, "a piece of another answer"});
  call.pieces_->to_come_bytes -= size_bytes;
  if (call.pieces_->to_come_bytes == 0) call.pieces_->rest.reset();
  const std::size_t unsent = call.buffered_bytes();
  if (unsent == 0) {
    call.rest_ = std::move(piece->bytes);
    call.part_ = 1;  // the first of rest_
    call.part_sent_bytes_ = 0;
  } else {
    std::ranges::move(piece->bytes, std::back_inserter(call.rest_));
  }
  call.unsent_bytes_.store(unsent + size_bytes, std::memory_order_relaxed);
  unsent_bytes_ += size_bytes;
  nghttp2_session_resume_data(session_, call.stream_id_);  // does nothing if it did not wait
  host_.WantFlush();
  AskForPiece(call);
}

void Http2Session::BreakOff(Call& call, const Error& reason) {
  KV_WARN("broke off a large answer", {"remote-addr", peer_.view()}, {"error", reason.message});
  call.pieces_->rest.reset();
  // Clients translate ENHANCE_YOUR_CALM to ResourceExhausted.
  Reset(call, reason.code == Code::kResourceExhausted ? NGHTTP2_ENHANCE_YOUR_CALM
                                                      : NGHTTP2_INTERNAL_ERROR);
}

void Http2Session::FinishStream(Call& call, const Error& status) {
  if (call.sending_) {
    call.status_ = status;
    call.finish_waits_ = true;
  } else {
    Decide(call, status);
    SubmitTrailers(call);
  }
  if (call.stream_->read_callback) call.RunRead(Fail(CanceledError()));
}

void Http2Session::Cut(Call& call, const Error& reason) {
  call.cut_ = true;
  call.CallContext::Cancel(reason);
  if (call.sending_) {
    call.status_ = reason;
    call.finish_waits_ = true;
  } else {
    Decide(call, reason);
    SubmitTrailers(call);
  }
  call.FailCallbacks(reason);
}

void Http2Session::Expire(Call& call) { Cancel(call, DeadlineError()); }

void Http2Session::Decide(Call& call, Error status) {
  call.decided_ = true;
  call.status_ = std::move(status);
  per_loop_.loop.Disarm(call);
  if (call.stream_ != nullptr) {
    call.stream_->inbox = {};
    call.stream_->inbox_used = 0;
  }
  buffered_bytes_ -= std::exchange(call.counted_bytes_, 0);
  RunEndHook(call);
  call.Done();
}

void Http2Session::Cancel(Call& call, Error reason) {
  if (call.decided_) return;
  if (call.http_ != nullptr) return CancelHttp(call, reason);
  call.decided_ = true;
  call.status_ = std::move(reason);
  per_loop_.loop.Disarm(call);
  buffered_bytes_ -= std::exchange(call.counted_bytes_, 0);
  RunEndHook(call);
  if (call.sending_) {
    Reset(call, NGHTTP2_CANCEL);  // a message cannot be broken off in any other way
  } else {
    SubmitTrailers(call);
  }
  const std::shared_ptr<Call> keep = call.attached_;
  call.CallContext::Cancel(call.status_);
  call.FailCallbacks(call.status_);
}

void Http2Session::RunEndHook(Call& call) {
  if (!call.dispatched_ || !per_loop_.router.end_hook()) return;
  call.end_.code = call.status_.code;
  call.end_.message = call.status_.message;
  call.end_.duration = per_loop_.loop.now() - call.started();
  per_loop_.router.end_hook()(call, call.end_);
}

void Http2Session::SendMessage(Call& call, ByteChain message) {
  const std::size_t size_bytes = SizeBytes(message);
  if (size_bytes > per_loop_.options.max_send_message_bytes)
    return Cancel(call,
                  MessageToSendSizeError(size_bytes, per_loop_.options.max_send_message_bytes));
  Send(call, {}, std::move(message));
}

void Http2Session::Send(Call& call, SharedBytes first, ByteChain rest) {
  const std::size_t held_bytes = first.size() + SizeBytes(rest);
  const std::size_t size_bytes = held_bytes + call.to_come_bytes();
  BeginResponse(call);
  call.prefix_ = {0, static_cast<char>(size_bytes >> 24), static_cast<char>(size_bytes >> 16),
                  static_cast<char>(size_bytes >> 8), static_cast<char>(size_bytes)};
  call.prefix_sent_bytes_ = 0;
  call.first_ = std::move(first);
  call.rest_ = std::move(rest);
  call.part_ = 0;
  ++call.end_.sent_messages;
  call.end_.sent_bytes += size_bytes;
  SubmitUnsent(call, kMessagePrefixBytes + held_bytes);
}

void Http2Session::SendFrames(Call& call, ByteChain frames, std::size_t messages) {
  const std::size_t size_bytes = SizeBytes(frames);
  BeginResponse(call);
  call.prefix_sent_bytes_ = call.prefix_.size();  // the frames have their own
  call.first_ = {};
  call.rest_ = std::move(frames);
  call.part_ = 1;  // the first of rest_
  call.end_.sent_messages += messages;
  call.end_.sent_bytes += size_bytes - messages * kMessagePrefixBytes;
  SubmitUnsent(call, size_bytes);
}

void Http2Session::SubmitUnsent(Call& call, std::size_t size_bytes) {
  call.part_sent_bytes_ = 0;
  call.sending_ = true;
  call.unsent_bytes_.store(size_bytes, std::memory_order_relaxed);
  unsent_bytes_ += size_bytes;
  if (unsent_bytes_ >= AnswerMemory::kStepBytes) host_.CountHeld();
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
  call.decided_ = true;
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
  if (call.decided_) return;
  call.decided_ = true;
  call.status_ = CanceledError();
  per_loop_.loop.Disarm(call);
  buffered_bytes_ -= std::exchange(call.counted_bytes_, 0);
  RunEndHook(call);
  const std::shared_ptr<Call> keep = call.attached_;
  call.CallContext::Cancel(call.status_);
  call.FailCallbacks(call.status_);
}

void Http2Session::Reset(Call& call, std::uint32_t error_code) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.stream_id_, error_code);
  host_.WantFlush();
}

void Http2Session::AppendMessage(Call& call, std::size_t size_bytes) {
  const std::size_t left = call.unsent_bytes_.load(std::memory_order_relaxed) - size_bytes;
  call.unsent_bytes_.store(left, std::memory_order_relaxed);
  unsent_bytes_ -= size_bytes;
  if (call.prefix_sent_bytes_ < call.prefix_.size() && size_bytes > 0) {
    const std::size_t take = std::min(size_bytes, call.prefix_.size() - call.prefix_sent_bytes_);
    batch_->Append(std::string_view(call.prefix_.data() + call.prefix_sent_bytes_, take));
    call.prefix_sent_bytes_ += take;
    size_bytes -= take;
  }
  while (size_bytes > 0) {
    SharedBytes& part = call.part_ == 0 ? call.first_ : call.rest_[call.part_ - 1];
    const std::size_t take = std::min(size_bytes, part.size() - call.part_sent_bytes_);
    if (take < OutputBatch::kShareBytes) {
      batch_->Append(part.view().substr(call.part_sent_bytes_, take));
    } else {
      batch_->Append(part.Slice(call.part_sent_bytes_, take));
    }
    size_bytes -= take;
    call.part_sent_bytes_ += take;
    if (call.part_sent_bytes_ == part.size()) {
      part = {};
      ++call.part_;
      call.part_sent_bytes_ = 0;
    }
  }
  if (call.to_come_bytes() > 0) return AskForPiece(call);
  if (left == 0) OnMessageSent(call);
}

void Http2Session::OnMessageSent(Call& call) {
  call.sending_ = false;
  call.first_ = {};
  call.rest_ = {};
  if (std::exchange(call.finish_waits_, false)) Decide(call, std::move(call.status_));
  if (call.decided_ && call.http_ == nullptr) SubmitTrailers(call);
  // The handler learns of it in the next wake-up: this one's hooks have run.
  if (call.stream_ != nullptr && call.stream_->write_callback) call.Push();
}

void Http2Session::Detach(Call& call) {
  const std::shared_ptr<Call> keep = std::move(call.attached_);
  if (call.pieces_ != nullptr) call.pieces_->rest.reset();
  if (call.waiting_) {
    std::erase(waiting_, keep);
    call.waiting_ = false;
  }
  unsent_bytes_ -= call.unsent_bytes_.exchange(0, std::memory_order_relaxed);
  buffered_bytes_ -= std::exchange(call.counted_bytes_, 0);
  per_loop_.loop.Disarm(call);
  if (call.previous_ != nullptr) call.previous_->next_ = call.next_;
  if (call.next_ != nullptr) call.next_->previous_ = call.previous_;
  if (calls_ == &call) calls_ = call.next_;
  call.previous_ = nullptr;
  call.next_ = nullptr;
  --call_count_;
  call.session_ = nullptr;
  if (!call.decided_) {
    call.decided_ = true;
    call.status_ = CanceledError();
    RunEndHook(call);
    call.CallContext::Cancel(call.status_);
  }
  call.FailCallbacks(call.status_.code == Code::kOk ? CanceledError() : call.status_);
  // The handler may have left work for hooks that have already run, if this is a flush.
  if (batch_ != nullptr) per_loop_.loop.StayAwake();
}

}  // namespace kvorum::rpc
