// HTTP/1.1 on one connection: requests one after another, parsed under limits, each handed to the
// server's HttpHandler when it is complete, answered in order. Keep-alive as the client requests.
// The body of an answer may be sent while it is made, in chunks (to HTTP/1.0 until the end).
//
// A handler that reads the body while it comes (Options::reads_open_body) is called with the head
// alone if the client waits for leave to send the rest; such a connection serves no other request.
// A connection that becomes a WebSocket is handed over whole to a WebSocketSession.
//
// Used on its loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/http/http.h"
#include "rpc/session/per_loop.h"
#include "rpc/session/session.h"

namespace kvorum::rpc {

class Http1Parser;
class OpenBody;
class WebSocketSession;

class Http1Session final : public Session {
 public:
  // `certificate_name`: from the client's verified certificate; nullopt if none was requested.
  Http1Session(PerLoop& per_loop, SessionHost& host, SharedBytes peer,
               std::optional<SharedBytes> certificate_name, bool is_secure);
  ~Http1Session() override;
  Http1Session(const Http1Session&) = delete;
  Http1Session& operator=(const Http1Session&) = delete;

  void OnInput(std::string_view bytes) override;
  void OnInputEnd() override;
  void Produce(OutputBatch& batch) override;
  bool ending() const override;
  bool ended() const override;
  bool pauses_input(bool blocked) const override;
  std::size_t held_bytes() const override;
  void Drain() override;
  void CancelAll(const Error& reason) override;

 private:
  class Answer;  // the HttpSink of the request that is being handled

  enum class Phase : std::uint8_t { kIdle, kHead, kBody, kHandling, kOpenBody };

  // A client that does not read its answers gets no further one made.
  bool output_waits() const;
  void ParseInput();
  // The same, later than the bytes came.
  void ResumeInput();
  // Parses one step further; false if it needs more input.
  bool ParseSome();
  void EnterPhase(Phase phase);
  void OnHead();
  void Dispatch();
  // Calls the handler before the body has come.
  void DispatchOpen();
  void ParseOpenBody();
  void EndOpenBody();
  std::optional<HttpUpgrade> Upgrade(const HttpResponse& head);
  void EndAnswer();
  void SendResponse(HttpResponse response);
  // The parts of an answer whose body is sent while it is made.
  void BeginBody(const HttpResponse& head);
  void SendChunk(ByteChain bytes);
  void EndBody();
  void SendHead(const HttpResponse& response, std::string_view framing);
  // Answers a request that is not served, as Go's server does, and closes. Without a text it uses
  // the status's.
  void Refuse(unsigned status, std::string_view text = {});
  void RefuseBody(std::uint64_t length);  // 0: it is not known
  void OnTimer();

  PerLoop& per_loop_;
  SessionHost& host_;
  const SharedBytes peer_;
  const std::optional<SharedBytes> certificate_name_;
  const bool is_secure_;  // under TLS
  std::string input_;
  std::unique_ptr<Http1Parser> parser_;
  std::string body_;
  std::size_t handler_bytes_ = 0;  // of the request that is being handled, kept by its handler
  Phase phase_ = Phase::kIdle;
  bool keep_alive_ = true;  // of the request that is being handled
  bool head_only_ = false;  // it is a HEAD
  bool http_1_0_ = false;
  bool established_ = false;
  bool input_ended_ = false;
  bool closing_ = false;
  std::shared_ptr<OpenBody> open_body_;          // null without a handler that reads it
  std::unique_ptr<WebSocketSession> websocket_;  // has taken over; null otherwise
  std::shared_ptr<Answer> answer_;
  std::deque<SharedBytes> output_;
  MemberTimer<Http1Session, &Http1Session::OnTimer> timer_{*this};
  MemberTimer<Http1Session, &Http1Session::ResumeInput> resume_timer_{*this};
};

}  // namespace kvorum::rpc
