// Reports about ttl checks: check/pass, check/warn, check/fail, check/update. They change the
// agent's own list and are answered at once; the store hears of them by the next sync. Those with a
// token first ask the store whether it may write the check's entry.
//
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "consul/agent/agent_parts.h"
#include "consul/agent/local_view.h"
#include "consul/agent/write_questions.h"
#include "consul/http/exchange.h"

namespace kvorum::consul {

class AgentReports {
 public:
  AgentReports(const AgentParts& parts, WriteQuestions& questions)
      : parts_(parts), questions_(questions) {}
  std::vector<Route> Routes();

 private:
  void ReportAs(sync::Health health, Exchange exchange);
  void UpdateCheck(Exchange exchange);
  void Report(Exchange exchange, sync::Health health, std::string output);
  void Take(Exchange exchange, sync::Health health, const std::string& output);
  LocalView View() const { return {parts_.syncer, parts_.node}; }

  const AgentParts& parts_;
  WriteQuestions& questions_;
};

}  // namespace kvorum::consul
