// The parts of an agent that /v1/agent speaks for. The referenced objects outlive the routes and
// their requests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/task.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/model/definitions.h"
#include "consul/model/records.h"
#include "sync/agent/syncer.h"
#include "sync/checks/check_runner.h"

namespace kvorum::consul {

struct AgentParts {
  sync::Syncer& syncer;
  sync::CheckRunner& checks;
  Executor& executor;  // of timers; the syncer's will do
  std::string node;
  NodeDetails details = {};
  std::string datacenter = "dc1";
  std::string version = {};
  Scripts scripts = Scripts::kRefused;
  // The nodes of the catalog, for agent/members. Null: the agent knows of itself alone.
  std::function<std::vector<NodeView>()> nodes = {};
  // Reads the definitions again. Null: there are none.
  std::function<Result<void>()> on_reload = {};
  // The keys are gone after agent/leave: the program is to end.
  std::function<void()> on_left = {};
  // The catalog, in which the agent looks after its own records. Null: its syncs alone do.
  CatalogCopy* copy = nullptr;
  // Removes a node whose agent is dead from the catalog, and leaves one that lives as it is;
  // answers on any thread, with kNotFound of a node that never had an agent. Null:
  // agent/force-leave is refused.
  using OnRemoved = std::move_only_function<void(Result<void>)>;
  std::function<void(const std::string& node, OnRemoved on_removed)> on_force_leave = {};
};

}  // namespace kvorum::consul
