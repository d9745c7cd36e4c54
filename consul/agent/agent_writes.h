// The writes of /v1/agent: registering, deregistering, reporting, maintenance. Each changes the
// agent's own list, and answers once the store has it, or after a few seconds without it (the next
// sync repairs that).
//
// Thread-safe: one change at a time. A definition is read, and found good, before anything changes.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "consul/agent/agent_parts.h"
#include "consul/agent/local_view.h"
#include "consul/agent/view_waits.h"
#include "consul/http/exchange.h"

namespace kvorum::consul {

class AgentWrites {
 public:
  AgentWrites(const AgentParts& parts, ViewWaits& waits) : parts_(parts), waits_(waits) {}
  std::vector<Route> Routes();

 private:
  void RegisterService(Exchange exchange);
  void DeregisterService(Exchange exchange);
  void RegisterCheck(Exchange exchange);
  void DeregisterCheck(Exchange exchange);
  void ReportAs(sync::Health health, Exchange exchange);
  void UpdateCheck(Exchange exchange);
  void ServiceMaintenance(Exchange exchange);
  void NodeMaintenance(Exchange exchange);

  void Report(Exchange exchange, sync::Health health, const std::string& output);
  // With the mutex held. The encoded id of the entry that has changed; an error with a text.
  Result<std::string> AddService(sync::Entry entry, bool replaces_checks);
  Result<std::string> AddCheck(CheckForm form);
  Result<std::string> RemoveCheck(const std::string& id);
  Result<std::string> SetMaintenance(const std::string& id, sync::Check check, bool enable);
  // Leaves the check of the id out of all entries but one.
  void RemoveElsewhere(const std::string& encoded_id, const std::string& entry_id);
  Result<void> Register(sync::Entry entry);
  // Answers 200 once the store has the entry as it is here.
  void AnswerWhenWritten(Exchange exchange, const std::string& entry_id);
  DefinitionRules Rules() const;
  LocalView View() const { return {parts_.syncer, parts_.node}; }

  const AgentParts& parts_;
  ViewWaits& waits_;
  std::mutex mutex_;  // a change is read, made and written back
};

}  // namespace kvorum::consul
