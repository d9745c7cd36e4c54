// Requests on an HTTP/2 connection that are not gRPC: they are collected and handed to the server's
// HttpHandler, like those over HTTP/1.1. Only under TLS, where ALPN directs clients here that speak
// both.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/letter_case.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/http/http2_rules.h"
#include "rpc/http/http_date.h"
#include "rpc/http/http_input.h"
#include "rpc/http/loop_http_sink.h"
#include "rpc/http2/http2_session.h"

namespace kvorum::rpc {
namespace {

nghttp2_nv HeaderOf(const HttpHeader& header) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(header.name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(header.value.data())),
          header.name.size(), header.value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

class Http2Session::HttpAnswer final : public LoopHttpSink, public HttpBody {
 public:
  HttpAnswer(std::shared_ptr<Call> call, Loop& loop) : LoopHttpSink(loop), call_(std::move(call)) {}

  void OnGone(std::move_only_function<void()> callback) override {
    call_->OnCancel(
        [callback = std::move(callback)](const Error& /*reason*/) mutable { callback(); });
  }
  void Hold(std::size_t bytes) override {
    if (call_->session_ == nullptr || call_->decided()) return;
    call_->request_.set_handler_bytes(bytes);
    call_->session_->CountBuffered(*call_);
  }
  std::shared_ptr<HttpBody> Begin(HttpResponse head) override {
    if (call_->session_ == nullptr || call_->decided()) return nullptr;
    call_->session_->BeginHttpBody(*call_, std::move(head));
    return std::static_pointer_cast<HttpAnswer>(shared_from_this());
  }
  // The bytes take a stream's way, without its prefixes.
  void Write(ByteChain bytes, Written written) override {
    call_->WriteFrames(std::move(bytes), /*messages=*/1, std::move(written));
  }
  void End() override { call_->Finish({Code::kOk, ""}); }

 private:
  void Deliver(HttpResponse response) override {
    if (call_->session_ != nullptr && !call_->decided())
      call_->session_->AnswerHttp(*call_, std::move(response));
  }

  const std::shared_ptr<Call> call_;
};

// The bytes stay with the call, and use up the stream's window, until they are read.
class Http2Session::OpenInput final : public HttpInput {
 public:
  OpenInput(std::shared_ptr<Call> call, Loop& loop) : call_(std::move(call)), loop_(loop) {}

  void Read(Arrived arrived) override {
    arrived_ = std::move(arrived);
    Serve();
  }
  // There are bytes, or they have ended, or the call has.
  void Serve() {
    if (arrived_ == nullptr) return;
    Http2Session* const session = call_ == nullptr ? nullptr : call_->session_;
    if (session == nullptr || call_->decided()) return Tell(Fail(CanceledError()));
    std::string bytes = call_->request_.TakeKept();
    if (bytes.empty() && !call_->request_.ended()) return;
    nghttp2_session_consume_stream(session->session_, call_->stream_id_, bytes.size());
    session->CountBuffered(*call_);
    session->host_.WantFlush();
    Tell(std::move(bytes));
  }
  // The connection lets go of the call.
  void Detach() {
    call_ = nullptr;
    Serve();
  }

 private:
  void Tell(Result<std::string> bytes) {
    loop_.Post([arrived = std::exchange(arrived_, nullptr), bytes = std::move(bytes)]() mutable {
      arrived(std::move(bytes));
    });
  }

  std::shared_ptr<Call> call_;  // null once detached
  Loop& loop_;
  Arrived arrived_;
};

void Http2Session::ServeHttpInput(Call& call) {
  static_cast<OpenInput&>(*call.http_->input).Serve();
}

void Http2Session::DetachHttpInput(Call& call) {
  const std::shared_ptr<HttpInput> input = std::exchange(call.http_->input, nullptr);
  if (input != nullptr) static_cast<OpenInput&>(*input).Detach();
}

void Http2Session::BeginHttp(Call& call, bool remote_ended) {
  if (!head_.path_seen || head_.method == RequestHead::HttpMethod::kNone)
    return RefuseStream(call, NGHTTP2_PROTOCOL_ERROR);
  auto request = std::make_unique<HttpRequest>();
  request->method =
      head_.method == RequestHead::HttpMethod::kPost ? "POST" : head_.wrong_http_method;
  request->target = call.entry_ == nullptr ? head_.unknown_path : call.entry_->info.path;
  call.ForEachMetadata([&request](std::string_view name, std::string_view value) {
    request->headers.push_back(
        {name == ":authority" ? "host" : std::string(name), std::string(value)});
  });
  if (!head_.wrong_content_type.empty())
    request->headers.push_back({"content-type", head_.wrong_content_type});
  request->peer = peer_;
  request->certificate_name = certificate_name_;
  request->loop = &per_loop_.loop;
  request->is_secure = true;
  call.entry_ = nullptr;
  const auto& reads_open_body = per_loop_.options.reads_open_body;
  const bool is_open = !remote_ended && reads_open_body != nullptr &&
                       reads_open_body(request->method, request->Path());
  if (is_open) request->input = std::make_shared<OpenInput>(call.owner(), per_loop_.loop);
  call.http_ = std::move(request);
  if (remote_ended || is_open) DispatchOrWait(call);
}

std::string Http2Session::TooLargeText(const HttpRequest& request) const {
  const auto& text = per_loop_.options.http_too_large_text;
  if (text == nullptr) return "413 Request Entity Too Large";
  const auto length = ParseContentLength(request.Header("content-length").value_or(""));
  return text(request.method, request.Path(), length.value_or(0));
}

void Http2Session::OnHttpData(Call& call, std::string_view bytes) {
  if (call.http_->input != nullptr) {
    call.request_.Keep(bytes);
    if (CountBuffered(call)) ServeHttpInput(call);
    return;
  }
  nghttp2_session_consume_stream(session_, call.stream_id_, bytes.size());
  if (call.request_.kept_bytes() + bytes.size() > per_loop_.options.http_max_body_bytes)
    return AnswerHttp(call, HttpResponse::Text(413, TooLargeText(*call.http_)));
  call.request_.Keep(bytes);
  CountBuffered(call);
}

void Http2Session::DispatchHttp(Call& call) {
  HttpRequest request = std::move(*call.http_);
  if (request.input == nullptr) request.body = SharedBytes::Own(call.request_.TakeKept());
  call.http_->method = request.method;
  call.http_->input = request.input;
  CountBuffered(call);
  per_loop_.http(std::move(request),
                 HttpReply(std::make_shared<HttpAnswer>(call.owner(), per_loop_.loop)));
}

void Http2Session::SubmitHttpHead(Call& call, HttpResponse response,
                                  std::optional<std::size_t> body_bytes, bool is_all) {
  std::vector<HttpHeader> headers{{":status", std::to_string(response.status)}};
  for (HttpHeader& header : response.headers)
    headers.push_back({LowerCase(std::move(header.name)), std::move(header.value)});
  if (!response.content_type.empty())
    headers.push_back({"content-type", std::move(response.content_type)});
  headers.push_back({"date", HttpDate()});
  if (body_bytes) headers.push_back({"content-length", std::to_string(*body_bytes)});
  std::vector<nghttp2_nv> fields;
  for (const HttpHeader& header : headers) fields.push_back(HeaderOf(header));
  call.response_begun_ = true;
  nghttp2_submit_headers(session_, is_all ? NGHTTP2_FLAG_END_STREAM : NGHTTP2_FLAG_NONE,
                         call.stream_id_, nullptr, fields.data(), fields.size(), nullptr);
  if (is_all || call.http_->input == nullptr) call.request_.DropKept();
  host_.WantFlush();
}

void Http2Session::AnswerHttp(Call& call, HttpResponse response) {
  ByteChain body = std::move(response.body);
  const std::size_t body_bytes = SizeBytes(body);
  const bool has_body = body_bytes > 0 && call.http_->method != "HEAD";
  SubmitHttpHead(call, std::move(response), body_bytes, !has_body);
  Decide(call, {Code::kOk, ""});
  if (!has_body) return;
  call.answer_body_.BeginPlain(std::move(body));
  SubmitUnsent(call);
}

void Http2Session::BeginHttpBody(Call& call, HttpResponse head) {
  SubmitHttpHead(call, std::move(head), std::nullopt, /*is_all=*/false);
  held_.Forget(call.request_);
  call.BecomeStream();
}

void Http2Session::EndHttpBody(Call& call) {
  nghttp2_data_provider nothing{};
  nothing.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t,
                             std::uint32_t* flags, nghttp2_data_source*, void*) -> ssize_t {
    *flags = NGHTTP2_DATA_FLAG_EOF;
    return 0;
  };
  nghttp2_submit_data(session_, NGHTTP2_FLAG_END_STREAM, call.stream_id_, &nothing);
  host_.WantFlush();
}

void Http2Session::CancelHttp(Call& call, const Error& reason) {
  if (call.response_begun_) return RefuseStream(call, NGHTTP2_CANCEL);
  call.CallContext::Cancel(reason);
  AnswerHttp(call, HttpResponse::Text(503, reason.message + "\n"));
}

}  // namespace kvorum::rpc
