// The end of a run that has converged: everything that was published reaches its followers: the
// watchers, the observers of the election, the caches and the catalog.
#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"
#include "tests/sim/clients/clients.h"
#include "tests/sim/clients/lock_clients.h"
#include "tests/sim/clients/watchers.h"
#include "tests/sim/judges/copies.h"
#include "tests/sim/judges/lock_judge.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

// Outlives the answers that it waits for.
class Ending {
 public:
  struct Parts {
    Clients& clients;
    Watchers& watchers;
    LockClients& locks;
    LockJudge& lock_judge;
    Copies& copies;
  };
  using LiveVoters = std::function<std::vector<Machine*>()>;

  Ending(World& world, Parts parts) : world_(world), parts_(parts) {}

  void Run(const LiveVoters& live_voters);

 private:
  void Observe(TimePoint end, const LiveVoters& live_voters);
  void PutLastLeader(const LiveVoters& live_voters);
  void Copy(TimePoint end);

  World& world_;
  const Parts parts_;
};

}  // namespace kvorum::sim
