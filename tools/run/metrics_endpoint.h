// GET /metrics of a running command: what sync/ counts, as Prometheus reads it.
//
// Serves on its own thread until it is destroyed. The metrics outlive it.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"

namespace kvorum::rpc {
class Server;
}  // namespace kvorum::rpc
namespace kvorum::sync {
class Metrics;
}  // namespace kvorum::sync

namespace kvorum::ctl {

class MetricsEndpoint {
 public:
  // `address` is HOST:PORT, [HOST]:PORT or :PORT; port 0 is any. kInvalidArgument: it is not;
  // kUnavailable: it cannot be listened on.
  static Result<std::unique_ptr<MetricsEndpoint>> Open(const std::string& address,
                                                       const sync::Metrics& metrics);
  ~MetricsEndpoint();
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  // With the actual port.
  const std::string& address() const { return address_; }

 private:
  MetricsEndpoint(std::unique_ptr<rpc::Server> server, std::string address);
  std::unique_ptr<rpc::Server> server_;
  const std::string address_;
};

}  // namespace kvorum::ctl
