// Looks after this agent's records in the catalog between its full syncs: when the copy shows that
// somebody has removed its node or one of its services (catalog/deregister), or has given tags to a
// service that allows it (tag_override.h), a full sync comes soon. It sets right what is gone, and
// takes the tags over.
//
// Thread-safe. A look follows each change of the node in the copy, at most one in kPause. Syncer,
// executor and copy outlive it.
#pragma once

#include <chrono>
#include <set>
#include <string>

#include "base/clock.h"
#include "consul/agent/agent_parts.h"
#include "consul/catalog/catalog_copy.h"
#include "sync/kernel/loop.h"

namespace kvorum::consul {

class OwnRecords {
 public:
  explicit OwnRecords(const AgentParts& parts);
  ~OwnRecords() { loop_.Stop(); }
  OwnRecords(const OwnRecords&) = delete;
  OwnRecords& operator=(const OwnRecords&) = delete;

  static constexpr Duration kPause = std::chrono::seconds(1);

 private:
  TimePoint Step(TimePoint now);
  // True if there is to be another look after the pause.
  bool Look();

  const AgentParts& parts_;
  bool has_moved_ = true;
  TimePoint next_{};
  // The copy's, at the last look.
  bool has_node_ = false;
  std::set<std::string> expected_;  // ids of services
  sync::Loop loop_;
  CatalogCopy::WaitHandle wait_;
};

}  // namespace kvorum::consul
