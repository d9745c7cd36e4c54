// /v1/agent of one agent: its routes and the work behind them.
//
// Thread-safe. It outlives the listener that has its routes; its end drops requests that wait.
#pragma once

#include <memory>
#include <vector>

#include "consul/agent/agent_parts.h"
#include "consul/http/exchange.h"

namespace kvorum::consul {

class AgentRoutes {
 public:
  explicit AgentRoutes(AgentParts parts);
  ~AgentRoutes();
  AgentRoutes(const AgentRoutes&) = delete;
  AgentRoutes& operator=(const AgentRoutes&) = delete;

  std::vector<Route> Routes();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::consul
