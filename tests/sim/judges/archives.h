// The archive of a simulated cluster: each process archives into one bucket while it leads, and at
// the end of the run the bucket must restore what the cluster had.
//
// Checked: from each base that has a manifest, and for targets chosen at random, the plan's entries
// are the committed ones, none is missing between a base and the newest entry of its line unless a
// gap is declared, and the state that they make has the revision that the log's model has. Of the
// newest state the database restored is that of the members.
//
// Threading: the scheduler's. Its choices come from a separate generator.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/store/object_store.h"
#include "archive/store/stop_signal.h"
#include "base/rng.h"
#include "proto/raft_types.h"
#include "server/archive/member_archive.h"
#include "server/replay/replay.h"
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

  // Before the machine starts.
  void AddTo(server::LocalMemberOptions& options, std::size_t machine);
  // Its process is open, and does not run yet.
  void Began(Machine& machine);
  void OnEnding(Machine& machine);
  // An entry that is committed, each once, in their order.
  void Take(const raft::Entry& entry) { committed_.push_back(entry); }
  // The faults are over.
  void Settle() { bucket_.EndFaults(); }
  // Everything up to this entry is archived, and nothing is under way.
  bool IsUpToDate(raft::Index applied) const;
  // Restores from the bucket, at the end of a run. `live` have converged.
  void Judge(const std::vector<Machine*>& live);

 private:
  class Writer;
  struct Options {
    Duration interval{};
    Duration base_interval{};
    std::uint64_t keep_bases = 0;
    std::uint64_t max_log_bytes = 0;
  };
  class NoStop final : public archive::StopSignal {
   public:
    bool WaitFor(Duration) override { return true; }
  };

  server::MemberNotes& NotesOf(std::size_t machine);
  void StepLater(Machine& machine, std::uint64_t life);
  void CheckEntries(archive::ObjectStore& store, const archive::Plan& plan, raft::Term base_term);
  void RestoreTo(const archive::Contents& contents, const archive::Target& target,
                 const std::vector<Machine*>& live);
  void Replay(archive::ObjectStore& store, const archive::Plan& plan, raft::Term base_term,
              SimFileSystem& disk, const std::vector<Machine*>& live);
  void CompareWith(Machine& machine, server::Replay& replay);

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  const LogModel& log_;
  Rng rng_;
  Options options_;
  NoStop stop_;
  Bucket bucket_;
  std::vector<raft::Entry> committed_;  // [i] has index i + 1
  // By machine, of its process.
  std::map<std::size_t, std::unique_ptr<server::MemberNotes>> notes_;
  std::map<std::size_t, std::unique_ptr<Writer>> writers_;
};

}  // namespace kvorum::sim
