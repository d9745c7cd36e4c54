// An agent with /v1/agent over a store in memory, by a clock of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text/percent.h"
#include "consul/agent/agent_routes.h"
#include "consul/agent/tag_override.h"
#include "consul/model/api_json.h"
#include "sync/checks/check_runner.h"
#include "tests/consul/fake_exchange.h"
#include "tests/sync/catalog_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::consul {

// Every probe fails or succeeds as the test says.
class FakeProber final : public sync::Prober {
 public:
  void Begin(const sync::CheckDefinition& check, OnEnd on_end) override {
    probed.push_back(check.id);
    on_end(result);
  }
  sync::ProbeResult result = {.health = sync::Health::kPassing, .output = "fine"};
  std::vector<std::string> probed;
};

class AgentWorld : public testing::Test {
 protected:
  void SetUp() override { Begin({}); }
  void TearDown() override { End(); }

  void Begin(const sync::AgentState& restored) {
    sync::SyncerOptions options;
    options.root = "/r";
    options.node = "n1";
    options.seed = 1;
    options.keeps_records = true;
    options.node_details = EncodeNodeDetails(Details());
    options.registry.take_over = WithCatalogTags;
    options.store_of = store_of_;
    options.save = [this](std::string state, sync::SyncerOptions::OnSaved on_saved) {
      saved_ = std::move(state);
      executor_.Post([on_saved = std::move(on_saved)]() mutable { on_saved({}); });
    };
    syncer_ = std::make_unique<sync::Syncer>(store_, executor_, options, restored);
    checks_ = std::make_unique<sync::CheckRunner>(executor_, prober_, *syncer_, 1);
    routes_ = std::make_unique<AgentRoutes>(Parts());
    handlers_ = routes_->Routes();
    ASSERT_TRUE(syncer_->Start());
    checks_->Refresh();
    executor_.Advance(std::chrono::milliseconds(100));
  }
  void End() {
    handlers_.clear();
    routes_ = nullptr;
    checks_ = nullptr;
    syncer_ = nullptr;
  }

  virtual AgentParts Parts() {
    return {.syncer = *syncer_,
            .checks = *checks_,
            .executor = executor_,
            .node = "n1",
            .details = Details(),
            .version = "1.0.0",
            .on_reload = [this] { return reload_; },
            .on_left = [this] { has_left_ = true; }};
  }
  static NodeDetails Details() {
    return {.id = NodeIdOf("n1"),
            .address = "10.0.0.1",
            .tagged_addresses = TaggedAddressesOf("10.0.0.1")};
  }

  // The answer of the routes to a request; no time passes.
  std::shared_ptr<FakeAnswer> Ask(const std::string& method, const std::string& target,
                                  std::string body = {},
                                  std::vector<rpc::HttpHeader> headers = {}) {
    const std::string path = PercentDecode(target.substr(0, target.find('?')));
    const Route* best = nullptr;
    for (const Route& route : handlers_) {
      const bool is_prefix = route.path.ends_with('/') && path.starts_with(route.path);
      if (!is_prefix && route.path != path) continue;
      if (best == nullptr || route.path.size() > best->path.size()) best = &route;
    }
    EXPECT_NE(best, nullptr) << target;
    if (best == nullptr) return std::make_shared<FakeAnswer>();
    EXPECT_EQ(best->methods, method) << target;
    EXPECT_EQ(best->writes, method == "PUT") << target;
    auto [exchange, answer] = MakeExchange({.method = method,
                                            .target = target,
                                            .body = std::move(body),
                                            .headers = std::move(headers)},
                                           path.substr(best->path.size()));
    best->handle(std::move(exchange));
    return answer;
  }
  // The answer's "STATUS BODY" once the store has taken what changed.
  std::string Put(const std::string& target, std::string body = {}) {
    const auto answer = Ask("PUT", target, std::move(body));
    executor_.Advance(std::chrono::milliseconds(100));
    EXPECT_TRUE(answer->is_answered()) << target;
    return answer->line();
  }
  std::string Get(const std::string& target) { return Ask("GET", target)->line(); }
  Json GetJson(const std::string& target) { return Ask("GET", target)->json(); }
  // The status of a check as the agent tells it.
  std::string StatusOf(const std::string& check) {
    const Json checks = GetJson("/v1/agent/checks");
    return checks.contains(check) ? checks[check]["Status"].get<std::string>() : "none";
  }
  std::string OutputOf(const std::string& check) {
    return GetJson("/v1/agent/checks")[check]["Output"].get<std::string>();
  }
  // The record that the store keeps of a service of the node.
  std::optional<ServiceRecord> Kept(const std::string& id) {
    const std::string bytes = store_.ValueOf(RegistryKeys("/r").Service("n1", id));
    auto record = DecodeService("n1", id, bytes);
    if (!record) return std::nullopt;
    return *std::move(record);
  }

  sync::ManualExecutor executor_;
  sync::CatalogStore store_{executor_};
  FakeProber prober_;
  std::string saved_;
  Result<void> reload_ = {};
  bool has_left_ = false;
  // SyncerOptions::store_of, for tests that set it before SetUp.
  decltype(sync::SyncerOptions::store_of) store_of_ = {};
  std::unique_ptr<sync::Syncer> syncer_;
  std::unique_ptr<sync::CheckRunner> checks_;
  std::unique_ptr<AgentRoutes> routes_;
  std::vector<Route> handlers_;
};

}  // namespace kvorum::consul
