// The archive of a simulated cluster: each process archives into one bucket while it leads, and at
// the end of the run the bucket must restore what the cluster had.
//
// Checked: from each base that has a manifest, and for targets chosen at random, the plan's entries
// are the committed ones, none is missing between a base and the newest entry of its line unless a
// gap is declared, and the state that they make has the revision that the log's model has. Of the
// newest state the database restored is that of the members.
//
// Threading: the scheduler's. Its choices come from a generator of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "archive/catalog/contents.h"
#include "base/rng.h"
#include "proto/raft_types.h"
#include "tests/sim/judges/log_model.h"
#include "tests/sim/world/bucket.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Archives {
 public:
  Archives(World& world, std::vector<std::unique_ptr<Machine>>& machines, const LogModel& log);
  ~Archives();
  Archives(const Archives&) = delete;
  Archives& operator=(const Archives&) = delete;

  void Start();
  // An entry that is committed, each once, in their order.
  void Take(const raft::Entry& entry) { committed_.push_back(entry); }
  // Its process archives no more.
  void OnEnding(Machine& machine);
  // The faults are over.
  void Settle() { bucket_.EndFaults(); }
  // Everything that is committed is archived.
  bool IsUpToDate() const;
  // Restores from the bucket, at the end of a run. `live` have converged.
  void Judge(const std::vector<Machine*>& live);

 private:
  class Writer;

  void StepLater(Machine& machine);
  void Step(Machine& machine);
  void RestoreTo(const archive::Contents& contents, const archive::Target& target,
                 const std::vector<Machine*>& live);

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  const LogModel& log_;
  Rng rng_;
  Bucket bucket_;
  std::vector<raft::Entry> committed_;  // [i] has index i + 1
  std::map<std::size_t, std::unique_ptr<Writer>> writers_;  // by machine, of its process
};

}  // namespace kvorum::sim
