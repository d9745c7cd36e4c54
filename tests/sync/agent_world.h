// Agents beside one store in memory, for the behaviours A1 to A20.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sync/agent/syncer.h"
#include "tests/sync/catalog_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::sync {

inline const Error kDown{Code::kUnavailable, "no endpoint"};

// True if a key with the part in it is put or deleted.
inline bool Writes(const TxnRequest& request, const std::string& part) {
  return std::ranges::any_of(request.then, [&](const Operation& op) {
    return op.kind != Operation::Kind::kRange && op.key.contains(part);
  });
}

// An agent and its reports.
struct Agent {
  std::string saved;  // its state file
  std::vector<Error> errors;
  Metrics metrics;
  std::unique_ptr<Syncer> syncer;
};

class AgentWorld : public testing::Test {
 protected:
  std::unique_ptr<Agent> NewAgent(const std::string& node, const AgentState& restored = {}) {
    auto agent = std::make_unique<Agent>();
    SyncerOptions options = options_;
    options.root = "/r";
    options.node = node;
    options.seed = ++seed_;
    options.metrics = &agent->metrics;
    options.save = [this, to = agent.get()](std::string state, SyncerOptions::OnSaved on_saved) {
      if (save_time_ == Duration::zero()) {
        to->saved = std::move(state);
        return executor_.Post([on_saved = std::move(on_saved)]() mutable { on_saved({}); });
      }
      executor_.PostAt(executor_.Now() + save_time_,
                       [to, state = std::move(state), on_saved = std::move(on_saved)]() mutable {
                         to->saved = std::move(state);
                         on_saved({});
                       });
    };
    options.on_error = [to = agent.get()](const Error& error) { to->errors.push_back(error); };
    agent->syncer = std::make_unique<Syncer>(store_, executor_, options, restored);
    return agent;
  }
  // An agent whose first full sync has succeeded.
  std::unique_ptr<Agent> Started(const std::string& node,
                                 const std::vector<std::string>& ids = {}) {
    auto agent = NewAgent(node);
    for (const std::string& id : ids) EXPECT_TRUE(agent->syncer->Register(Web(id)));
    EXPECT_TRUE(agent->syncer->Start());
    Pass(std::chrono::milliseconds(100));
    EXPECT_EQ(agent->syncer->status().full_syncs, 1U);
    return agent;
  }

  static Entry Web(const std::string& id, const std::string& value = "v") {
    return {.id = id, .name = "web", .value = value};
  }
  static Entry Checked(const std::string& id) {
    return {.id = id,
            .name = "web",
            .value = "v",
            .checks = {{.definition = {.id = "up"}, .health = Health::kPassing}}};
  }
  static std::string EntryKey(const std::string& id) { return "/r/catalog/n1/" + id; }
  static std::string ServiceKey(const std::string& id, const std::string& name = "web") {
    return "/r/services/" + name + "/n1." + id;
  }
  // The value that the store has of an entry of node n1, both keys of which must be equal.
  std::string Remote(const std::string& id) {
    EXPECT_EQ(store_.ValueOf(EntryKey(id)), store_.ValueOf(ServiceKey(id)));
    const auto record = DecodeRecord(store_.ValueOf(EntryKey(id)));
    return record ? record->value : "";
  }
  std::string RemoteOutput(const std::string& id) {
    const auto record = DecodeRecord(store_.ValueOf(EntryKey(id)));
    return record && !record->checks.empty() ? record->checks.front().output : "";
  }

  void Pass(Duration d) { executor_.Advance(d); }

  ManualExecutor executor_;
  CatalogStore store_{executor_};
  SyncerOptions options_;
  Duration save_time_{0};  // of the agents' disk
  std::uint64_t seed_ = 0;
};

}  // namespace kvorum::sync
