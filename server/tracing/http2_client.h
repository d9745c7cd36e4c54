// The HTTP/2 side of one unary gRPC call at a time, as a client: bytes in, bytes out. Knows no
// socket; CollectorConnection drives it.
//
// Used by one thread. Errors: what breaks the protocol is an error of Receive, and final.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

struct nghttp2_session;

namespace kvorum::server::tracing {

class Http2Client {
 public:
  static constexpr std::size_t kMaxAnswerBytes = 64 * 1024;

  Http2Client();
  ~Http2Client();
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  // Begins a call. `message` is copied; no other call runs.
  Result<void> Start(std::string_view authority, std::string_view path, std::string_view message);
  // Nothing while the call runs; then the answer's message, or the call's status.
  std::optional<Result<std::string>> TakeOutcome();
  // Gives the call up.
  void Cancel();

  // The next bytes to send; empty if there are none for now.
  Result<std::string_view> NextOutput();
  Result<void> Receive(std::string_view bytes);
  // False once the server takes no further calls.
  bool takes_calls() const;

 private:
  struct Callbacks;
  Result<std::string> Outcome() const;

  nghttp2_session* session_ = nullptr;
  std::int32_t stream_id_ = -1;  // of the call that runs
  bool ended_ = false;
  bool going_away_ = false;
  std::string request_;  // with its prefix
  std::size_t sent_bytes_ = 0;
  std::string http_status_;
  std::string grpc_status_;
  std::string grpc_message_;
  std::string answer_;
  bool is_too_large_ = false;
};

}  // namespace kvorum::server::tracing
