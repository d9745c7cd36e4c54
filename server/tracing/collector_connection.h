// One connection to a collector: unary gRPC calls in plain text, one at a time.
//
// Belongs to the exporter's thread, which waits here, never longer than the limit that the caller
// gives. Errors: any error of the connection closes it, and the next call opens another. A name is
// looked up by the system's resolver, which has its own time limits.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "rpc/io/dial_target.h"
#include "rpc/io/wait_limit.h"

namespace kvorum::rpc {
class GrpcConnection;
}

namespace kvorum::server::tracing {

class CollectorConnection {
 public:
  using Metadata = std::vector<std::pair<std::string, std::string>>;
  // The metadata goes with each call.
  CollectorConnection(rpc::DialTarget target, Metadata metadata);
  ~CollectorConnection();
  CollectorConnection(const CollectorConnection&) = delete;
  CollectorConnection& operator=(const CollectorConnection&) = delete;

  // The answer's message, or the call's status. An answer of more than 64 KiB is an error.
  Result<std::string> Call(std::string_view path, std::string_view message,
                           const rpc::WaitLimit& limit);

  // The socket between calls, -1 without one: when it is readable, Idle answers pings and notices
  // that the collector has left.
  int fd() const;
  void Idle();

 private:
  Result<void> Open(const rpc::WaitLimit& limit);
  // An error closes the connection, unless it is the call's own status.
  Result<std::string> Exchange(std::string_view path, std::string_view message,
                               const rpc::WaitLimit& limit);

  const rpc::DialTarget target_;
  const Metadata metadata_;
  std::unique_ptr<rpc::GrpcConnection> connection_;  // null without one
};

}  // namespace kvorum::server::tracing
