// A simulated agent: a program whose syncer keeps the catalog equal to what runs on its node. Its
// state file outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sync/agent/syncer.h"
#include "tests/sim/judges/catalog_judge.h"
#include "tests/sim/program.h"
#include "tests/sim/program_user.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Agent {
 public:
  Agent(World& world, std::vector<std::unique_ptr<Machine>>& machines, CatalogJudge& judge,
        ProgramUser& user, std::string name, std::string node);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // A process begins, with the state file or without.
  void Start();
  // It is gone from one moment to the next.
  void Kill();
  void ForgetState() { state_.clear(); }
  // Ends when the keys are removed, or could not be.
  void Leave();
  void PauseUntil(TimePoint until) { running_->program.PauseUntil(until); }

  // Something happens on its node.
  void Act();

  bool is_up() const { return running_ != nullptr; }
  bool is_leaving() const { return running_ != nullptr && running_->is_leaving; }
  const std::string& name() const { return name_; }
  const std::string& node() const { return node_; }
  sync::SyncerStatus status() const { return running_->syncer->status(); }
  // The keys that the catalog is to have of it, with their values; its lease has them all.
  std::map<std::string, std::string> Truth() const;
  // Notes its state.
  void Check();

 private:
  struct Running {
    Running(World& world, std::vector<std::unique_ptr<Machine>>& machines, ProgramUser& user,
            SimStore::Options options)
        : program(world, machines, user, std::move(options)) {}
    Program program;
    std::unique_ptr<sync::Syncer> syncer;
    bool is_leaving = false;
    bool was_refused = false;
    std::int64_t restored_session = 0;  // which its state file names
  };

  SimStore::Options StoreOptions();
  sync::SyncerOptions SyncerOptions();
  void Save(std::string state, sync::SyncerOptions::OnSaved on_saved);
  void Register();
  void ChangeTogether();
  void UpdateCheck();
  std::string RandomId();

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  CatalogJudge& judge_;
  ProgramUser& user_;
  const std::string name_;
  const std::string node_;
  std::string state_;  // the file
  std::uint64_t lives_ = 0;
  std::uint64_t values_ = 0;
  std::unique_ptr<Running> running_;
};

}  // namespace kvorum::sim
