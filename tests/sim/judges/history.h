// The states of the replicas and the answers to clients, and the judgement of both together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/linearizability/history.h"
#include "tests/sim/clients/request.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/judges/lease_ledger.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

// The state at each revision, the same on all members.
class StateHistory {
 public:
  explicit StateHistory(World& world) : world_(world) {}

  // A member says that these are the encoded rows at the revision.
  void Observe(const std::string& who, std::int64_t revision, std::vector<std::string> rows);
  std::int64_t last_revision() const { return states_.empty() ? 1 : states_.rbegin()->first; }
  std::size_t size() const { return states_.size(); }
  const std::map<std::int64_t, std::vector<std::string>>& states() const { return states_; }

 private:
  World& world_;
  std::map<std::int64_t, std::vector<std::string>> states_;
};

// The clients' operations must be linearizable, and each state of the replicas must be the one that
// these operations make: it joins the history as if a client had read it. Operations without a
// client are the end of a lease (a revision that deleted all keys of a lease that is gone) and, in
// a run with locks, a revision that changed queues of locks only: LockJudge knows them; and the put
// of the record that is spoiled. Reports
// violations to the world.
void Judge(World& world, const std::vector<Request>& requests, const StateHistory& states,
           const EventHistory& events, const LeaseLedger& leases);

}  // namespace kvorum::sim
