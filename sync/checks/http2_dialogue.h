// The client's side of HTTP/2 in a probe: a PING, or a call of grpc.health.v1.Health/Check. Bytes
// in, bytes out; no I/O.
//
// For one thread. Of an answer it keeps the call's status and a message of at most 4 KiB; nghttp2
// bounds the rest.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sync/agent/check_machine.h"
#include "sync/agent/entry.h"

namespace kvorum::sync {

class Http2Dialogue {
 public:
  // A check of the kind kH2Ping or kGrpc.
  explicit Http2Dialogue(const CheckDefinition& check);
  ~Http2Dialogue();
  Http2Dialogue(const Http2Dialogue&) = delete;
  Http2Dialogue& operator=(const Http2Dialogue&) = delete;

  // The bytes to send now; empty: there are none to send.
  std::string TakeOutput();
  // Takes bytes that have come.
  void Feed(std::string_view bytes);
  // The result of the probe, once it is known; to be asked for after each of these calls.
  const std::optional<ProbeResult>& result() const;

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

// HOST:PORT of a target HOST:PORT/SERVICE.
std::string GrpcAddressOf(const std::string& target);

}  // namespace kvorum::sync
