// Cleans up after what has died, at one agent of the cluster: the one that holds
// ROOT/registry-janitor.
//
//   a session's key is gone     its keys are released or deleted (session_end.h)
//   a session lost its ground   (its node, serfHealth, a check that it names): its key is deleted
//   a node's agent is dead      for longer than reap_after: the node goes, with its services
//
// When an agent died is kept in ROOT/registry-dead/NODE, in seconds since 1970, so that the next
// janitor goes on counting. Within one janitor's time a jump of the clock changes nothing. External
// nodes have no agent, and stay.
//
// Thread-safe; works on the executor. All parts outlive it. Errors are reported and tried again at
// the next full round, a minute later at most. Safe with two janitors at once: every write compares
// what it leans on. Bounds: kTasksAtOnce tasks under way, kMaxWaitingTasks that wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "consul/catalog/catalog_copy.h"
#include "sync/store/store.h"

namespace kvorum::consul {

struct JanitorParts {
  CatalogCopy& copy;  // not started yet: the janitor observes it
  sync::Store& store;
  Executor& executor;
  std::string node = {};                         // this agent's
  std::string root = "/kvorum";                  // without a slash at its end
  std::string kv_root = "/kvorum/kv/";           // with it
  Duration reap_after = std::chrono::hours(72);  // zero: never
  std::function<void(const std::string& text)> on_report = {};
  std::uint64_t seed = 0;  // of the pauses; 0: from the operating system
};

class Janitor {
 public:
  explicit Janitor(JanitorParts parts);
  // Stops it.
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;
  void Start();
  void Stop();
  bool is_elected() const;

  // Removes the record of a node whose agent is dead, its services and its sessions, also if
  // another agent is the janitor. A node that lives stays as it is, without an error. kNotFound:
  // there is no such node, or it is an external one. Calls back on the executor, once.
  void RemoveNode(const std::string& node, std::move_only_function<void(Result<void>)> on_done);

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace kvorum::consul
