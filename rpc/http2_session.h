// gRPC over HTTP/2 on one connection: nghttp2 implements HTTP/2, this class gRPC on top of it and
// the connection's limits.
//
// Under TLS a connection may carry plain HTTP requests too (http2_http.cc).
//
// A call goes through these steps: its headers are checked as they come (OnHeader), it is routed
// when they are complete (BeginCall), its messages are collected (OnData), its handler is called
// (Dispatch); its answer goes out as HEADERS, DATA and trailers (Send, Decide). HTTP/2's own header
// rules are checked here (http2_rules.h) and not by nghttp2, which refuses headers that grpc-go
// accepts: etcd's clients send ":authority: #initially=[...]".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call.h"
#include "rpc/frame_heads.h"
#include "rpc/per_loop.h"
#include "rpc/session.h"

struct nghttp2_session;

namespace kvorum::rpc {

class Http2Session final : public Session {
 public:
  enum class Serves : std::uint8_t { kGrpc, kGrpcAndHttp };

  // `certificate_name`: from the client's verified certificate; nullopt if none was requested.
  Http2Session(PerLoop& per_loop, SessionHost& host, SharedBytes peer,
               std::optional<SharedBytes> certificate_name, Serves serves);
  ~Http2Session() override;
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  void OnInput(std::string_view bytes) override;
  void OnInputEnd() override;
  void Produce(OutputBatch& batch) override;
  bool ending() const override { return ended_ || hanging_up_ || close_when_sent_; }
  bool ended() const override { return ended_; }
  bool pauses_input(bool blocked) const override;
  std::size_t held_bytes() const override { return unsent_bytes_ + buffered_bytes_; }
  void Drain() override;
  void CancelAll(const Error& reason) override;

  // For Call: the answer of a unary call.
  void Answer(Call& call, Error status, SharedBytes first, ByteChain rest);
  // The next piece of a large answer, or the reason why there is none.
  void TakePiece(Call& call, Result<AnswerPiece> piece);
  // One message of a stream.
  void SendMessage(Call& call, ByteChain message);
  // Several messages with their prefixes.
  void SendFrames(Call& call, ByteChain frames, std::size_t messages);
  void FinishStream(Call& call, const Error& status);
  // Like FinishStream; to the handler it is as if the client had left.
  void Cut(Call& call, const Error& reason);
  // Completes the outstanding Read if possible.
  void ServeRead(Call& call);
  // The call's deadline has passed.
  void Expire(Call& call);

 private:
  struct Callbacks;  // nghttp2's
  friend nghttp2_session* NewServerSession(Http2Session& owner);
  friend void SubmitMessage(nghttp2_session* session, std::int32_t stream_id, Call& call);

  // The content of a header block. One is open at a time, so one for the connection is enough; the
  // strings are set only for requests that will be refused.
  struct Head {
    std::optional<Error> error;  // the first header that cannot be understood
    std::optional<Duration> timeout;
    std::string unknown_path;
    std::string wrong_http_method;
    std::string wrong_content_type;
    std::string unknown_encoding;
    std::size_t list_bytes = 0;
    std::uint32_t authorities = 0;
    std::uint32_t hosts = 0;
    bool malformed = false;     // not HTTP/2: the stream is reset
    bool too_large = false;     // also not HTTP/2
    bool regular_seen = false;  // pseudo headers may not follow
    bool path_seen = false;
    bool method_seen = false;
    bool scheme_seen = false;
    bool is_https = false;  // by its scheme
    bool is_post = false;
    bool is_grpc = false;
  };

  void StartSession();

  // From the request to the handler.
  Call* NewCall(std::int32_t stream_id);
  void OnHeader(Call& call, std::string_view name, std::string_view value);
  void OnPseudoHeader(Call& call, std::string_view name, std::string_view value);
  // Checks a field of a header block after the request's messages, which has no meaning in gRPC.
  void OnTrailer(std::string_view name, std::string_view value);
  // Handles a header with a meaning in gRPC or HTTP; false if it is metadata.
  bool OnProtocolHeader(Call& call, std::string_view name, std::string_view value);
  // True if its complete header block is not a request of HTTP/2.
  bool IsMalformed(const Call& call) const;
  void BeginCall(Call& call, bool remote_ended);
  void OnData(Call& call, std::string_view bytes);
  void OnUnaryData(Call& call, std::string_view bytes);
  void OnStreamData(Call& call, std::string_view bytes);
  void OnRemoteEnd(Call& call);
  void EndUnaryRequest(Call& call);
  // Moves the received bytes into the call's reader and gives its window back; false if that broke
  // the call.
  bool FeedReader(Call& call);
  // Adds the call's request bytes to the connection's sum; false if that broke the call.
  bool CountBuffered(Call& call);
  // True if another request may be started, with this bound for unread answers.
  bool MayDispatch(std::uint64_t max_unsent_bytes) const;
  void DispatchOrWait(Call& call);
  void Dispatch(Call& call);
  void DispatchWaiting();

  // For a request that is not gRPC.
  class HttpAnswer;
  void BeginHttp(Call& call, bool remote_ended);
  void OnHttpData(Call& call, std::string_view bytes);
  void DispatchHttp(Call& call);
  void AnswerHttp(Call& call, HttpResponse response);
  void CancelHttp(Call& call, const Error& reason);

  // From the answer to the client. Decide ends the call for its handler.
  void Decide(Call& call, Error status);
  // Like Decide, for a call that ends differently from what its handler says: the handler is told.
  void Cancel(Call& call, Error reason);
  void RunEndHook(Call& call);
  // Ends the stream of an answer in the middle of its message.
  void BreakOff(Call& call, const Error& reason);
  void BeginResponse(Call& call);
  void SubmitTrailers(Call& call);
  // Answers before routing, with a separate HTTP status.
  void Refuse(Call& call, Error status, std::string_view http_status);
  // Resets the stream of a request that is not HTTP/2; its handler, if it was called already, is
  // told that the call is over.
  void RefuseStream(Call& call, std::uint32_t error_code);
  void Reset(Call& call, std::uint32_t error_code);
  // One message: `first`, then `rest`, then what is still to come.
  void Send(Call& call, SharedBytes first, ByteChain rest);
  void AskForPiece(Call& call);
  void SubmitUnsent(Call& call, std::size_t size_bytes);
  void AppendMessage(Call& call, std::size_t size_bytes);
  void OnMessageSent(Call& call);
  void Detach(Call& call);

  // For the connection. A HEADERS frame whose id is neither new nor that of an open stream ends the
  // connection.
  void OnHeadersFrame(std::int32_t stream_id);
  // Reports to the client each DATA frame in the received bytes on a stream that is over.
  void RefuseLateData(FrameHeads heads, std::string_view bytes);
  bool IsOver(std::int32_t stream_id) const;
  void RememberReset(std::int32_t stream_id);
  // Called before the client's SETTINGS take effect, and for the initial window that they set: a
  // window of more than 2^31-1 bytes ends the connection.
  void BeforeSettings();
  void OnInitialWindow(std::uint32_t initial_window_bytes);
  void OnPing();
  void OnPingAck(const std::uint8_t* opaque);
  // Counts a stream that was reset, by the client or for its fault.
  void OnReset();
  void OnKeepaliveTimer();
  // Sends the last frame to a misbehaving client: nothing is sent after it.
  void HangUp(std::uint32_t error_code, std::string_view debug_data);
  void OnGoAwaySent();
  void FinalGoAway();
  void CheckEnd();

  PerLoop& per_loop_;
  SessionHost& host_;
  const SharedBytes peer_;
  const std::optional<SharedBytes> certificate_name_;
  const Serves serves_;
  nghttp2_session* session_ = nullptr;
  OutputBatch* batch_ = nullptr;  // while Produce runs

  Head head_;              // of the newest call
  Call* calls_ = nullptr;  // open calls, newest first
  std::size_t call_count_ = 0;
  std::deque<std::shared_ptr<Call>> waiting_;  // for unsent_bytes_ to fall, then for their handlers
  std::uint64_t buffered_bytes_ = 0;
  std::uint64_t unsent_bytes_ = 0;
  bool established_ = false;
  bool draining_ = false;
  bool final_goaway_sent_ = false;
  bool close_when_sent_ = false;  // no more frames follow the queued ones
  bool hanging_up_ = false;       // GOAWAY is the last
  bool ended_ = false;

  FrameHeads heads_;                   // of the input
  std::size_t taken_data_frames_ = 0;  // of this input, by nghttp2
  std::int32_t last_stream_id_ = 0;    // of those opened by the client
  // The latest streams that we reset, oldest overwritten first: frames that the client sent before
  // it knew are ignored.
  std::vector<std::int32_t> reset_streams_;
  std::size_t next_reset_ = 0;
  // As BeforeSettings found them: the bytes that may be sent on a stream.
  std::int64_t widest_window_bytes_ = 0;
  std::int64_t initial_window_bytes_ = 0;

  // Keepalive.
  bool activity_since_ping_ = false;  // we sent headers or data: the next ping is free
  int ping_strikes_ = 0;
  TimePoint last_ping_;
  TimePoint last_input_;
  bool ping_unanswered_ = false;
  double reset_tokens_;
  TimePoint reset_refill_;
  MemberTimer<Http2Session, &Http2Session::OnKeepaliveTimer> keepalive_timer_{*this};
  MemberTimer<Http2Session, &Http2Session::DispatchWaiting> dispatch_timer_{*this};
  MemberTimer<Http2Session, &Http2Session::FinalGoAway> drain_timer_{*this};
};

}  // namespace kvorum::rpc
