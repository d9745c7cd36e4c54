// The listeners of --listen-metrics-urls: metrics and health only, for probes and scrapers that
// must not reach the data. Served from the start, before the member is ready.
//
// Ownership: the handler's parts, the TLS context and the answers' memory outlive it. Bind is
// called before any data is touched; nothing is accepted until Serve.
//
// Threading: called by the main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/answer_memory.h"
#include "base/error.h"
#include "rpc/http/http.h"
#include "rpc/server/server.h"
#include "rpc/tls/tls_context.h"

namespace kvorum::server {

struct Options;

class MetricsServer {
 public:
  static constexpr std::uint32_t kMaxConnections = 256;

  // `tls` is the clients', for https; null: there is none, and https is refused. `answers` is
  // theirs, too: answers and incomplete requests of both ports are bounded together.
  Result<void> Bind(const Options& options, const std::shared_ptr<rpc::TlsContext>& tls,
                    AnswerMemory& answers);
  // Before Serve. The handler gets requests without a loop.
  void Use(rpc::HttpHandler handler);
  void Serve();
  void Shutdown();
  // Any thread.
  std::uint64_t open_connections() const {
    return server_ == nullptr ? 0 : server_->stats().open_connections;
  }

 private:
  std::unique_ptr<rpc::Server> server_;  // null without URLs
  std::vector<std::string> addresses_;
};

}  // namespace kvorum::server
