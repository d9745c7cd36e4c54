// Deregisters services that have been critical for as long as one of their checks allows
// (deregister_critical_service_after), counted from the moment it became critical in this run.
//
// Its own work runs on the executor. What the parts name outlives it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "consul/agent/agent_parts.h"
#include "sync/kernel/loop.h"

namespace kvorum::consul {

class CriticalReaper {
 public:
  explicit CriticalReaper(const AgentParts& parts);
  ~CriticalReaper();
  CriticalReaper(const CriticalReaper&) = delete;
  CriticalReaper& operator=(const CriticalReaper&) = delete;

 private:
  using Key = std::pair<std::string, std::string>;  // the entry's and the check's id
  TimePoint Step(TimePoint now);
  void Look(TimePoint now);

  const AgentParts& parts_;
  std::map<Key, TimePoint> critical_since_;
  TimePoint next_{};
  sync::Loop loop_;
};

}  // namespace kvorum::consul
