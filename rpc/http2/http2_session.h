// gRPC over HTTP/2 on one connection: nghttp2 implements HTTP/2, this class gRPC on top of it and
// the connection's limits. Used on its loop's thread.
//
// Under TLS a connection may carry plain HTTP requests too (http2_http.cc).
//
// A call goes through these steps: its headers are checked as they come (RequestHead), it is routed
// when they are complete (BeginCall), its messages are collected (OnData, RequestBody), its handler
// is called (Dispatch); its answer goes out as HEADERS, DATA and trailers (Send, AnswerBody,
// Decide). HTTP/2's own header rules are checked here (http2_rules.h) and not by nghttp2, which
// refuses headers that grpc-go accepts: etcd's clients send ":authority: #initially=[...]".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/packed_metadata.h"
#include "rpc/call/request_head.h"
#include "rpc/http/keepalive.h"
#include "rpc/http2/call.h"
#include "rpc/http2/late_frames.h"
#include "rpc/http2/window_change.h"
#include "rpc/io/member_timer.h"
#include "rpc/io/owning_list.h"
#include "rpc/session/flood_limits.h"
#include "rpc/session/held_bytes.h"
#include "rpc/session/per_loop.h"
#include "rpc/session/session.h"

struct nghttp2_session;

namespace kvorum::rpc {

class Http2Session final : public Session {
 public:
  // kHttp: gRPC's requests are like any others.
  enum class Serves : std::uint8_t { kGrpc, kGrpcAndHttp, kHttp };

  // `certificate_name`: from the client's verified certificate; nullopt if none was requested.
  Http2Session(PerLoop& per_loop, SessionHost& host, SharedBytes peer,
               std::optional<SharedBytes> certificate_name, Serves serves);
  ~Http2Session() override;
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  void OnInput(std::string_view bytes) override;
  void OnInputEnd() override;
  void Produce(OutputBatch& batch) override;
  bool ending() const override { return ending_ != Ending::kNone; }
  bool ended() const override { return ending_ == Ending::kEnded; }
  bool pauses_input(bool blocked) const override;
  std::size_t held_bytes() const override { return held_.size(); }
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
  std::string LocalAddress() const { return host_.LocalAddress(); }

 private:
  struct Callbacks;  // nghttp2's
  friend nghttp2_session* NewServerSession(Http2Session& owner, SessionMemory& memory);
  friend void SubmitMessage(nghttp2_session* session, std::int32_t stream_id, Call& call);

  enum class Phase : std::uint8_t {
    kNew,  // before the client's SETTINGS
    kServing,
    kDraining,  // the client got GOAWAY: it opens no more streams
    kLast,      // the final GOAWAY names the last one
  };
  // The ways in which a connection ends, in the order in which they may follow each other.
  enum class Ending : std::uint8_t {
    kNone,
    kWhenSent,   // no more frames follow the queued ones
    kHangingUp,  // a GOAWAY is the last
    kEnded,
  };

  void StartSession();

  // From the request to the handler.
  Call* NewCall(std::int32_t stream_id);
  void BeginCall(Call& call, bool remote_ended);
  void OnData(Call& call, std::string_view bytes);
  void OnUnaryData(Call& call, std::string_view bytes);
  void OnStreamData(Call& call, std::string_view bytes);
  void OnRemoteEnd(Call& call);
  void EndUnaryRequest(Call& call);
  // Adds the call's request bytes to the connection's sum; false if that broke the call.
  bool CountBuffered(Call& call);
  void DispatchOrWait(Call& call);
  void Dispatch(Call& call);
  void DispatchWaiting();

  // For a request that is not gRPC.
  class HttpAnswer;
  class OpenInput;  // the body of a request whose handler reads it while it comes
  void BeginHttp(Call& call, bool remote_ended);
  void OnHttpData(Call& call, std::string_view bytes);
  std::string TooLargeText(const HttpRequest& request) const;
  void ServeHttpInput(Call& call);
  void DetachHttpInput(Call& call);
  void DispatchHttp(Call& call);
  void AnswerHttp(Call& call, HttpResponse response);
  // A body that is sent while it is made: from its head on it is like a stream's messages.
  void BeginHttpBody(Call& call, HttpResponse head);
  void EndHttpBody(Call& call);
  void SubmitHttpHead(Call& call, HttpResponse response, std::optional<std::size_t> body_bytes,
                      bool is_all);
  void CancelHttp(Call& call, const Error& reason);

  // From the answer to the client. Decide ends the call for its handler.
  void Decide(Call& call, Error status);
  // Like Decide, for a call that ends differently from what its handler says: the handler is
  // notified.
  void Cancel(Call& call, Error reason);
  void RunEndHook(Call& call);
  // Ends the stream of an answer in the middle of its message.
  void BreakOff(Call& call, const Error& reason);
  void BeginResponse(Call& call);
  void SubmitTrailers(Call& call);
  // Answers before routing, with a separate HTTP status.
  void Refuse(Call& call, Error status, std::string_view http_status);
  // Resets the stream of a request that is not HTTP/2; its handler, if it was called already, is
  // notified that the call is over.
  void RefuseStream(Call& call, std::uint32_t error_code);
  void Reset(Call& call, std::uint32_t error_code);
  // One message: `first`, then `rest`, then what is still to come.
  void Send(Call& call, SharedBytes first, ByteChain rest);
  void AskForPiece(Call& call);
  // Lets the answer's unsent bytes flow.
  void SubmitUnsent(Call& call);
  void AppendMessage(Call& call, std::size_t size_bytes);
  void OnMessageSent(Call& call);
  void Detach(Call& call);

  // For the connection. A HEADERS frame whose id is neither new nor that of an open stream ends the
  // connection.
  void OnHeadersFrame(std::int32_t stream_id);
  // Called before the client's SETTINGS take effect, and for the initial window that they set: a
  // window of more than 2^31-1 bytes ends the connection.
  void BeforeSettings();
  void OnInitialWindow(std::uint32_t initial_window_bytes);
  void OnEstablished();
  void OnPing();
  void OnPingAck(const std::uint8_t* opaque);
  // Counts a stream that was reset early by the client, or for its fault.
  void OnReset();
  // True for a call whose client may leave it at no charge: it has got something of the answer, or
  // the call has lasted.
  bool IsOldNews(const Call& call) const;
  void OnKeepaliveTimer();
  // Sends the last frame to a misbehaving client: nothing is sent after it.
  void HangUp(std::uint32_t error_code, std::string_view debug_data);
  void EndBy(Ending ending) { ending_ = std::max(ending_, ending); }
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

  RequestHead head_;         // of the newest call
  MetadataPacker metadata_;  // of the calls, one after the other
  OwningList<Call> calls_;
  std::deque<std::shared_ptr<Call>> waiting_;  // for unsent bytes to fall, then for their handlers
  HeldBytes held_;
  Phase phase_ = Phase::kNew;
  Ending ending_ = Ending::kNone;

  LateFrames late_frames_;
  WindowChange window_change_;
  FloodLimits floods_;
  Keepalive keepalive_;
  MemberTimer<Http2Session, &Http2Session::OnKeepaliveTimer> keepalive_timer_{*this};
  MemberTimer<Http2Session, &Http2Session::DispatchWaiting> dispatch_timer_{*this};
  MemberTimer<Http2Session, &Http2Session::FinalGoAway> drain_timer_{*this};
};

}  // namespace kvorum::rpc
