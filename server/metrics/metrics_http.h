// GET /metrics, compressed for a client that accepts gzip, and GET /debug/vars.
//
// Made on its own executor: a scrape reads /proc and takes milliseconds. Requests wait their
// turn there, at most kMostWaiting of them; more get 503. Ownership: registry, cluster and executor
// outlive the routes; the executor ends before this object.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/metric.h"
#include "base/task.h"
#include "rpc/http/http.h"
#include "server/metrics/registry.h"

namespace kvorum::server {

struct ClusterFacts;

class MetricsHttp {
 public:
  static constexpr int kMostWaiting = 64;

  // Adds its own rows (promhttp_*) to the registry.
  MetricsHttp(MetricsRegistry& registry, Executor& executor);
  void AddRoutes(rpc::HttpMux& mux);

 private:
  void Serve(const rpc::HttpRequest& request, rpc::HttpReply reply);

  const MetricsRegistry& registry_;
  Executor& executor_;
  std::atomic<int> waiting_{0};
  Counter served_;
  Counter refused_;
};

// The variables that Go programs publish: the command line, the Raft state, memory. `arguments` is
// the command line.
void AddDebugVars(rpc::HttpMux& mux, const ClusterFacts& cluster,
                  const std::vector<std::string>& arguments);

}  // namespace kvorum::server
