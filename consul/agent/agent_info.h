// The routes of /v1/agent about the agent itself and its fellows, and its end: self, members, host,
// version, metrics, reload, leave, force-leave. A token that is given with one of the last three
// must be allowed to write this node's record. What agents do not have here is refused by name.
//
// Thread-safe.
#pragma once

#include <vector>

#include "consul/agent/agent_parts.h"
#include "consul/agent/write_questions.h"
#include "consul/http/exchange.h"

namespace kvorum::consul {

class AgentInfo {
 public:
  AgentInfo(const AgentParts& parts, WriteQuestions& questions)
      : parts_(parts), questions_(questions) {}
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
  void IfAllowed(Exchange exchange, WriteQuestions::GoOn go_on) const;

  const AgentParts& parts_;
  WriteQuestions& questions_;
};

}  // namespace kvorum::consul
