// The routes of /v1/agent about the agent itself and its fellows, and its end: self, members, host,
// version, metrics, reload, leave, force-leave. What agents do not have here is refused by name.
//
// Thread-safe.
#pragma once

#include <vector>

#include "consul/agent/agent_parts.h"
#include "consul/http/exchange.h"

namespace kvorum::consul {

class AgentInfo {
 public:
  explicit AgentInfo(const AgentParts& parts) : parts_(parts) {}
  std::vector<Route> Routes();

 private:
  void Self(Exchange exchange) const;
  void Members(Exchange exchange) const;
  void Version(Exchange exchange) const;
  void Host(Exchange exchange) const;
  void Metrics(Exchange exchange) const;
  void Reload(Exchange exchange) const;
  void Leave(Exchange exchange) const;
  void ForceLeave(Exchange exchange) const;

  const AgentParts& parts_;
};

}  // namespace kvorum::consul
