// A connection to a gRPC server as its client, for the rare calls that this process makes itself:
// one call at a time, by a thread that may wait. Many calls at once are the client library's.
//
// Used by one thread. While a call is in progress the server is pinged when it is silent. Errors:
// the status that the server gave; kDeadlineExceeded; kUnavailable if the connection broke, which
// says nothing about whether the server has executed the request. is_usable() is false from then
// on. An answer is at most `max_message_bytes`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/net/url.h"
#include "rpc/client/client_socket.h"
#include "rpc/tls/tls_context.h"

struct nghttp2_session;

namespace kvorum::rpc {

class GrpcConnection {
 public:
  struct Options {
    Duration dial_timeout = std::chrono::seconds(2);
    Duration ping_interval = std::chrono::seconds(10);
    Duration ping_timeout = std::chrono::seconds(6);
    std::uint32_t max_message_bytes = std::uint32_t{4} << 20;
  };
  struct Request {
    std::string_view path;  // "/etcdserverpb.KV/Range"
    std::string_view message;
    std::string_view token = {};                                         // of the user; empty: none
    std::span<const std::pair<std::string, std::string>> metadata = {};  // names in lower case
  };

  // `tls` is null for plain text; it must offer "h2".
  static Result<std::unique_ptr<GrpcConnection>> Dial(const Url& url, TlsContext* tls,
                                                      const Options& options);
  // `limit` counts beside the options' time.
  static Result<std::unique_ptr<GrpcConnection>> Dial(const DialTarget& target, TlsContext* tls,
                                                      const Options& options,
                                                      const WaitLimit& limit);
  ~GrpcConnection();
  GrpcConnection(const GrpcConnection&) = delete;
  GrpcConnection& operator=(const GrpcConnection&) = delete;

  // A unary call.
  Result<std::string> Call(const Request& request, const WaitLimit& limit);
  Result<std::string> Call(const Request& request, Duration timeout);
  // Sends one message, and gives each that comes to `take`, until that returns false; the call is
  // cancelled then. Waits as long as the connection lives.
  using Take = std::function<bool(std::string_view message)>;
  Result<void> Stream(const Request& request, const Take& take);

  bool is_usable() const { return failure_.empty(); }
  // The socket between calls: when it is readable, Idle answers pings and notices that the server
  // has left.
  int fd() const { return socket_.fd(); }
  void Idle();

 private:
  struct Exchange;  // the call in progress
  struct Callbacks;

  GrpcConnection(ClientSocket socket, std::string authority, const Options& options);
  Result<void> Submit(const Request& request, Exchange& exchange);
  // Sends what is due, and reads once.
  Result<void> Turn(const WaitLimit& limit);
  Result<void> Flush(const WaitLimit& limit);
  Result<void> Receive(const WaitLimit& limit);
  Result<void> KeepAlive();
  void Cancel(const Exchange& exchange);
  Result<void> Break(std::string why);

  ClientSocket socket_;
  const std::string authority_;
  const bool is_tls_;
  const Options options_;
  nghttp2_session* session_ = nullptr;
  TimePoint heard_;          // the last time that bytes came
  bool has_pinged_ = false;  // since then
  std::string failure_;      // empty: the connection stands
};

}  // namespace kvorum::rpc
