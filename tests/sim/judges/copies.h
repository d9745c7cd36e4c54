// The programs of a run that embed sync/: agents, two of one node among them, which register,
// pause, die, lose their leases, leave and come back with their state or without; somebody who
// scribbles in their catalog; and caches of what is in the store.
//
// In the end the catalog is what the living agents say, and the caches are what the store holds.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/clients/agent.h"
#include "tests/sim/clients/cache.h"
#include "tests/sim/clients/clients.h"
#include "tests/sim/clients/users.h"
#include "tests/sim/judges/catalog_judge.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/program_user.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Copies {
 public:
  struct Options {
    std::size_t agents = 0;  // of them the first two are of one node
    std::size_t caches = 0;
    Duration most_thinking = std::chrono::seconds(1);
  };
  Copies(World& world, std::vector<std::unique_ptr<Machine>>& machines, const EventHistory& events,
         Clients& clients, Users& users, Options options);

  void Start();
  // Nothing happens any more: some agents stay dead, the others keep what they have. They log in at
  // the members that `live` tells.
  void Settle(std::function<std::vector<Machine*>()> live);
  // Each second.
  void CheckAll();
  // The catalog is the truth.
  bool IsCatalogTrue();
  // The caches are what the store holds; once nothing is written any more.
  bool AreAtEnd();
  void AskForProgress();
  // The leases that living agents renew.
  std::set<lease::LeaseId> Leases() const;
  std::string Behind();

 private:
  struct Slot {
    std::string name;
    std::unique_ptr<Cache> cache;  // null: it is about to start
  };

  void ActLater(Agent& agent);
  void Act(Agent& agent);
  void StartLater(Agent& agent, Duration most);
  void ActLater(Slot& slot);
  void Act(Slot& slot);
  void OpenLater(Slot& slot, Duration most);
  void ScribbleLater();
  void Scribble();
  // Null: the name is not held, as far as they know.
  Agent* HolderOf(const std::string& node);
  std::map<std::string, std::string> Truth();
  // Not of the truth, and not to be removed by an agent.
  bool MayStay(const std::string& key, const sync::KeyValue& row);
  // Between the catalog and the truth, for people.
  std::string Differences();

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  const EventHistory& events_;
  Clients& clients_;
  ProgramUser user_;  // of all of them
  const Options options_;
  CatalogJudge judge_;
  std::deque<Agent> agents_;
  std::deque<Slot> slots_;
  std::set<std::string> overwritten_;  // entries, as NODE.ID
  bool settled_ = false;
};

}  // namespace kvorum::sim
