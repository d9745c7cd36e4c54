// One connection to a collector: unary gRPC calls in plain text, one at a time, over HTTP/2
// (nghttp2).
//
// Belongs to the exporter's thread, which waits here, never longer than the limit that the caller
// gives. Errors: any error of the connection closes it, and the next call opens another. A name is
// looked up by the system's resolver, which has time limits of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "server/tracing/collector_address.h"

namespace kvorum::server::tracing {

class Http2Client;

class CollectorConnection {
 public:
  // The time at which the running call is given up; asked again whenever `wake_fd` is readable,
  // which the exporter's owner causes to shorten it.
  using Limit = std::function<TimePoint()>;

  CollectorConnection(CollectorAddress address, int wake_fd);
  ~CollectorConnection();
  CollectorConnection(const CollectorConnection&) = delete;
  CollectorConnection& operator=(const CollectorConnection&) = delete;

  // The answer's message, or the call's status. An answer of more than 64 KiB is an error.
  Result<std::string> Call(std::string_view path, std::string_view message, const Limit& limit);

  // The socket between calls, -1 without one: when it is readable, Idle answers pings and notices
  // that the collector has left.
  int fd() const { return fd_; }
  void Idle();

 private:
  // True if this call made the connection.
  Result<bool> Open(const Limit& limit);
  Result<void> Connect(const Limit& limit);
  Result<void> Await(short events, const Limit& limit);
  Result<void> Flush(const Limit& limit);
  Result<void> Receive();
  // An error closes the connection, unless it is the call's own status.
  Result<std::string> Exchange(std::string_view path, std::string_view message, const Limit& limit);
  Result<Result<std::string>> Run(std::string_view path, std::string_view message,
                                  const Limit& limit);
  void Close();

  const CollectorAddress address_;
  const int wake_fd_;
  int fd_ = -1;
  std::unique_ptr<Http2Client> session_;  // null without a connection
};

}  // namespace kvorum::server::tracing
