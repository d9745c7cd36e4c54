// gRPC over HTTP/2 on one connection: nghttp2 speaks HTTP/2, this class speaks gRPC on it and keeps
// the connection's limits.
//
// Under TLS a connection may carry plain HTTP requests too (http2_http.cc).
//
// A call's way: its headers are judged as they come (OnHeader), routed when they are complete
// (BeginCall), its messages gathered (OnData), its handler called (Dispatch); its answer goes out
// as HEADERS, DATA and trailers (Send, Decide). HTTP/2's own header rules are checked here
// (http2_rules.h) and not by nghttp2, which refuses what grpc-go accepts: etcd's clients send
// ":authority: #initially=[...]".
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
#include "rpc/front.h"
#include "rpc/session.h"

struct nghttp2_session;

namespace kvorum::rpc {

class Http2Session final : public Session {
 public:
  enum class Serves : std::uint8_t { kGrpc, kGrpcAndHttp };

  // `certificate_name`: of the client, which proved it; none if it was not asked to.
  Http2Session(Front& front, SessionHost& host, SharedBytes peer,
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

  // For Call.
  // The answer of a unary call.
  void Answer(Call& call, Error status, SharedBytes first, ByteChain rest);
  // The next piece of a large answer, or why there is none.
  void TakePiece(Call& call, Result<AnswerPiece> piece);
  // One message of a stream.
  void SendMessage(Call& call, ByteChain message);
  // Several messages with their prefixes.
  void SendFrames(Call& call, ByteChain frames, std::size_t messages);
  void FinishStream(Call& call, const Error& status);
  // As FinishStream, for its handler as if the client had left.
  void Cut(Call& call, const Error& reason);
  // Completes the outstanding Read if it can be.
  void ServeRead(Call& call);
  // The call's deadline has passed.
  void Expire(Call& call);

 private:
  struct Callbacks;  // nghttp2's
  friend nghttp2_session* NewServerSession(Http2Session& owner);
  friend void SubmitMessage(nghttp2_session* session, std::int32_t stream_id, Call& call);

  // What a header block says. One is open at a time, so one for the connection is enough; the
  // strings are set only for what will be refused.
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
    bool too_large = false;     // as well
    bool regular_seen = false;  // pseudo headers may not follow
    bool path_seen = false;
    bool method_seen = false;
    bool scheme_seen = false;
    bool is_https = false;  // by its scheme
    bool is_post = false;
    bool is_grpc = false;
  };

  void StartSession();

  // The request's way in.
  Call* NewCall(std::int32_t stream_id);
  void OnHeader(Call& call, std::string_view name, std::string_view value);
  void OnPseudoHeader(Call& call, std::string_view name, std::string_view value);
  // A field of a header block behind the request's messages: it is judged, and says nothing in
  // gRPC.
  void OnTrailer(std::string_view name, std::string_view value);
  // A header that gRPC or HTTP gives a meaning; false if it is metadata.
  bool OnProtocolHeader(Call& call, std::string_view name, std::string_view value);
  // True if its header block, which is complete, is no request of HTTP/2.
  bool IsMalformed(const Call& call) const;
  void BeginCall(Call& call, bool remote_ended);
  void OnData(Call& call, std::string_view bytes);
  void OnUnaryData(Call& call, std::string_view bytes);
  void OnStreamData(Call& call, std::string_view bytes);
  void OnRemoteEnd(Call& call);
  void EndUnaryRequest(Call& call);
  // Moves what has come into the call's reader, giving its window back; false if that broke the
  // call.
  bool FeedReader(Call& call);
  // Enters what the call holds of its request into the connection's sum; false if that broke the
  // call.
  bool CountBuffered(Call& call);
  // True if another request may be started, with this bound for what the client has not taken.
  bool MayDispatch(std::uint64_t max_unsent_bytes) const;
  void DispatchOrWait(Call& call);
  void Dispatch(Call& call);
  void DispatchWaiting();

  // The way of a request that is not gRPC.
  class HttpAnswer;
  void BeginHttp(Call& call, bool remote_ended);
  void OnHttpData(Call& call, std::string_view bytes);
  void DispatchHttp(Call& call);
  void AnswerHttp(Call& call, HttpResponse response);
  void CancelHttp(Call& call, const Error& reason);

  // The answer's way out.
  // The call is over for its handler.
  void Decide(Call& call, Error status);
  // As Decide, for a call that ends otherwise than its handler says: the handler is told.
  void Cancel(Call& call, Error reason);
  void RunEndHook(Call& call);
  // Ends the stream of an answer in the middle of its message.
  void BreakOff(Call& call, const Error& reason);
  void BeginResponse(Call& call);
  void SubmitTrailers(Call& call);
  // Answers before routing, with an HTTP status of its own.
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

  // The connection.
  // A HEADERS frame: an id that is not new and not of an open stream ends the connection.
  void OnHeadersFrame(std::int32_t stream_id);
  // Tells the client of each DATA frame in the bytes that came on a stream which is over.
  void RefuseLateData(FrameHeads heads, std::string_view bytes);
  bool IsOver(std::int32_t stream_id) const;
  void RememberReset(std::int32_t stream_id);
  // Before the client's SETTINGS count, and for the initial window that they told: a window of more
  // than 2^31-1 bytes ends the connection.
  void BeforeSettings();
  void OnInitialWindow(std::uint32_t initial_window_bytes);
  void OnPing();
  void OnPingAck(const std::uint8_t* opaque);
  // Counts a stream that was reset, by the client or for its fault.
  void OnReset();
  void OnKeepaliveTimer();
  // The last word to a client that does not behave: nothing is sent after it.
  void HangUp(std::uint32_t error_code, std::string_view debug_data);
  void OnGoAwaySent();
  void FinalGoAway();
  void CheckEnd();

  Front& front_;
  SessionHost& host_;
  const SharedBytes peer_;
  const std::optional<SharedBytes> certificate_name_;
  const Serves serves_;
  nghttp2_session* session_ = nullptr;
  OutputBatch* batch_ = nullptr;  // while Produce runs

  Head head_;              // of the newest call
  Call* calls_ = nullptr;  // open calls, newest first
  std::size_t call_count_ = 0;
  std::deque<std::shared_ptr<Call>> waiting_;  // for unsent_bytes_ to fall, then their handlers
  std::uint64_t buffered_bytes_ = 0;
  std::uint64_t unsent_bytes_ = 0;
  bool established_ = false;
  bool draining_ = false;
  bool final_goaway_sent_ = false;
  bool close_when_sent_ = false;  // what is ready to be sent is the last
  bool hanging_up_ = false;       // GOAWAY is the last
  bool ended_ = false;

  FrameHeads heads_;                   // of the input
  std::size_t taken_data_frames_ = 0;  // of this input, by nghttp2
  std::int32_t last_stream_id_ = 0;    // of those that the client has opened
  // The latest streams that we reset, oldest overwritten first: what the client sent before it knew
  // is passed over.
  std::vector<std::int32_t> reset_streams_;
  std::size_t next_reset_ = 0;
  // As BeforeSettings found them: of what may be sent on a stream.
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
