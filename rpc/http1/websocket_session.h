// A connection that has become a WebSocket (RFC 6455; libwslay reads and writes the frames) for one
// request: the client's messages are the request's body, a line each, and each line of the answer's
// body is sent as a message of text. After the answer the connection is closed without a last
// frame, as etcd does.
//
// A message has the bound of a body, and its time from its first frame on. A client that does not
// read sends nothing either, answers to its pings included; what it sends and the handler does not
// read stays in the socket, but for a bounded part. Frames that break the protocol are answered
// with a close frame that has the reason's code. Used on its loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "rpc/call/open_body.h"
#include "rpc/http/http.h"
#include "rpc/io/member_timer.h"
#include "rpc/session/per_loop.h"
#include "rpc/session/session.h"

struct wslay_event_context;

namespace kvorum::rpc {

class WebSocketSession final : public Session {
 public:
  WebSocketSession(PerLoop& per_loop, SessionHost& host);
  ~WebSocketSession() override;
  WebSocketSession(const WebSocketSession&) = delete;
  WebSocketSession& operator=(const WebSocketSession&) = delete;

  // For the request's handler. Called once.
  HttpUpgrade Begin();

  void OnInput(std::string_view bytes) override;
  void OnInputEnd() override;
  void Produce(OutputBatch& batch) override;
  bool ending() const override { return closing_; }
  bool ended() const override;
  bool pauses_input(bool blocked) const override;
  std::size_t held_bytes() const override;
  void Drain() override {}
  void CancelAll(const Error& reason) override;

 private:
  class Answer;      // the HttpSink of the request
  struct Callbacks;  // wslay's

  void ReadFrames();
  void OnMessageEnd();
  void SendLines(std::string_view bytes);
  void SendText(std::string_view text);
  void EndAnswer();
  // Nothing is read any more; the request is cancelled.
  void HangUp();
  void OnTimer();

  PerLoop& per_loop_;
  SessionHost& host_;
  wslay_event_context* frames_ = nullptr;
  std::string input_;
  std::string message_;            // the client's, as far as it has come
  std::string line_;               // the answer's, as far as it has come
  std::size_t handler_bytes_ = 0;  // of the request, kept by its handler
  std::shared_ptr<OpenBody> body_;
  std::shared_ptr<Answer> answer_;  // null once it is complete, or has no waiter
  OutputBatch* batch_ = nullptr;    // while Produce runs
  bool in_control_ = false;         // the frame that is being read
  bool closing_ = false;
  MemberTimer<WebSocketSession, &WebSocketSession::OnTimer> timer_{*this};
  MemberTimer<WebSocketSession, &WebSocketSession::ReadFrames> resume_timer_{*this};
};

}  // namespace kvorum::rpc
