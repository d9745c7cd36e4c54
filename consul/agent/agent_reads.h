// The reads of /v1/agent: the agent's own services and checks, and what it tells about itself.
//
// Thread-safe. They are answered from the agent's own list, whether or not the store can be
// reached.
#pragma once

#include <vector>

#include "consul/agent/agent_parts.h"
#include "consul/agent/local_view.h"
#include "consul/agent/view_waits.h"
#include "consul/http/exchange.h"

namespace kvorum::consul {

class AgentReads {
 public:
  AgentReads(const AgentParts& parts, ViewWaits& waits) : parts_(parts), waits_(waits) {}
  std::vector<Route> Routes();

 private:
  void Services(Exchange exchange) const;
  // Waits for another hash than ?hash.
  void Service(Exchange exchange);
  void Checks(Exchange exchange) const;
  void HealthOfId(Exchange exchange) const;
  void HealthOfName(Exchange exchange) const;
  LocalView View() const { return {parts_.syncer, parts_.node}; }

  const AgentParts& parts_;
  ViewWaits& waits_;
};

}  // namespace kvorum::consul
