// The writes of /v1/agent: registering, deregistering, maintenance. Each changes the agent's own
// list, and answers once the store has it, or after a few seconds without it (the next sync repairs
// that).
//
// Thread-safe: one change at a time. A definition is read, and found good, and the store has let
// the token write it, before anything changes.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "consul/agent/agent_parts.h"
#include "consul/agent/local_view.h"
#include "consul/agent/view_waits.h"
#include "consul/agent/write_questions.h"
#include "consul/http/exchange.h"

namespace kvorum::consul {

class AgentWrites {
 public:
  AgentWrites(const AgentParts& parts, WriteQuestions& questions, ViewWaits& waits)
      : parts_(parts), questions_(questions), waits_(waits) {}
  std::vector<Route> Routes();

 private:
  void RegisterService(Exchange exchange);
  void DeregisterService(Exchange exchange);
  void RegisterCheck(Exchange exchange);
  void DeregisterCheck(Exchange exchange);
  void ServiceMaintenance(Exchange exchange);
  void NodeMaintenance(Exchange exchange);

  // Changes the list, with the mutex held, if the store allows it. The change returns the encoded
  // id of the entry that has changed, or an error with a text.
  using Change = std::move_only_function<Result<std::string>()>;
  void ChangeIfAllowed(Exchange exchange, std::vector<WriteQuestion> questions, Change change);
  Result<std::string> AddService(sync::Entry entry, bool replaces_checks);
  Result<std::string> AddCheck(CheckForm form);
  Result<std::string> RemoveCheck(const std::string& id);
  Result<std::string> RemoveService(const std::string& id, const std::string& token);
  Result<std::string> SetMaintenance(const std::string& id, sync::Check check, bool enable);
  Result<std::string> SetNodeMaintenance(sync::Entry entry, bool enable);
  // Leaves the check of the id out of all entries but one.
  void RemoveElsewhere(const std::string& encoded_id, const std::string& entry_id);
  Result<void> Register(sync::Entry entry);
  // Answers 200 once the store has the entry as it is here.
  void AnswerWhenWritten(Exchange exchange, const std::string& entry_id);
  DefinitionRules Rules() const;
  LocalView View() const { return {parts_.syncer, parts_.node}; }

  const AgentParts& parts_;
  WriteQuestions& questions_;
  ViewWaits& waits_;
  std::mutex mutex_;  // a change is read, made and written back
};

}  // namespace kvorum::consul
