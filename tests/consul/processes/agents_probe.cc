// Many agents in one process, for tests: each with the routes of /v1/agent at its own port, as
// `agent run --http-address` has them. Nothing runs on their nodes until it is registered there.
//
//   consul-agents-probe ENDPOINTS ROOT FIRST_NODE NODES TTL_S START_S COPIES
//
// The first COPIES nodes have a copy of the catalog each, as all agents of `agent run` have: they
// look after their own records in it, and answer catalog/ and health/ from it. The nodes start
// evenly over START_S; then a line says where they listen: {node: "HOST:PORT"}. The line "state" on
// standard input is answered by {"errors": count, "last_error": text}.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "client/client.h"
#include "consul/agent/agent_routes.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/http/catalog_routes.h"
#include "consul/http/listener.h"
#include "consul/http/reading.h"
#include "consul/http/router.h"
#include "consul/http/store_access.h"
#include "consul/model/api_json.h"
#include "consul/model/records.h"
#include "sync/agent/syncer.h"
#include "sync/checks/check_runner.h"
#include "sync/checks/system_prober.h"
#include "sync/store/client_store.h"
#include "tests/sync/processes/probe_client.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;

constexpr int kCallThreads = 4;

// A connection to the cluster and a thread, which many agents share.
struct Lane {
  std::unique_ptr<client::Client> client;
  std::unique_ptr<sync::ClientStore> store;
  ThreadExecutor executor{"agents"};
};

struct Plan {
  std::string root;
  int first_node = 0;
  int nodes = 0;
  int ttl_s = 0;
  int start_s = 0;
  int copies = 0;
};

class Failures {
 public:
  void Add(const Error& error) {
    const std::lock_guard lock(mutex_);
    ++count_;
    last_ = error.message;
  }
  nlohmann::json State() const {
    const std::lock_guard lock(mutex_);
    return {{"errors", count_}, {"last_error", last_}};
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::string last_;
};

std::string NodeName(int number) {
  char name[32];
  std::snprintf(name, sizeof(name), "node-%05d", number);
  return name;
}

// The store as the agents' own user, for every token.
class OneStore final : public StoreAccess {
 public:
  explicit OneStore(sync::Store& store) : store_(std::shared_ptr<void>(), &store) {}
  void StoreOf(const std::string&, OnStore on_store) override { on_store(store_); }

 private:
  const std::shared_ptr<sync::Store> store_;  // owns nothing
};

// The copy that an agent answers catalog/ and health/ from, with its routes.
class Catalog {
 public:
  Catalog(const Plan& plan, const std::string& node, Lane& lane, Failures& failures)
      : access_(*lane.store),
        copy_(*lane.store, lane.executor,
              {.root = plan.root,
               .on_report =
                   [&failures](const std::string& text) {
                     failures.Add({.code = Code::kUnknown, .message = text});
                   }}),
        reading_({.copy = copy_,
                  .access = access_,
                  .executor = lane.executor,
                  .registry_prefix = RegistryKeys(plan.root).prefix()}),
        parts_{.copy = copy_, .reading = reading_, .node = node} {}

  CatalogCopy& copy() { return copy_; }
  void AddTo(Router& router) const {
    router.Add(CatalogReadRoutes(parts_));
    router.Add(HealthRoutes(parts_));
  }

 private:
  OneStore access_;
  CatalogCopy copy_;
  Reading reading_;
  const CatalogReadParts parts_;
};

class HttpAgent {
 public:
  HttpAgent(const Plan& plan, int number, Lane& lane, sync::Prober& prober, Failures& failures)
      : node_(NodeName(number)),
        details_{.id = NodeIdOf(node_), .address = "10.0.0.1"},
        syncer_(*lane.store, lane.executor, OptionsOf(plan, failures)),
        checks_(lane.executor, prober, syncer_),
        catalog_(number < plan.first_node + plan.copies
                     ? std::make_unique<Catalog>(plan, node_, lane, failures)
                     : nullptr),
        routes_({.syncer = syncer_,
                 .checks = checks_,
                 .executor = lane.executor,
                 .node = node_,
                 .details = details_,
                 .copy = catalog_ == nullptr ? nullptr : &catalog_->copy()}),
        router_({}) {
    router_.Add(routes_.Routes());
    if (catalog_ != nullptr) catalog_->AddTo(router_);
  }
  ~HttpAgent() {
    if (catalog_ != nullptr) catalog_->copy().Stop();
    listener_ = nullptr;
    checks_.Stop();
    syncer_.Stop();
  }
  HttpAgent(const HttpAgent&) = delete;
  HttpAgent& operator=(const HttpAgent&) = delete;

  // False: it could not listen.
  bool Start() {
    auto listener = Listener::Open(router_, {.address = "127.0.0.1:0"});
    if (!listener || !syncer_.Start()) return false;
    listener_ = *std::move(listener);
    if (catalog_ != nullptr) catalog_->copy().Start();
    checks_.Refresh();
    return true;
  }
  const std::string& node() const { return node_; }
  const std::string& address() const { return listener_->address(); }

 private:
  sync::SyncerOptions OptionsOf(const Plan& plan, Failures& failures) const {
    sync::SyncerOptions options;
    options.root = plan.root;
    options.node = node_;
    options.ttl_s = plan.ttl_s;
    options.keeps_records = true;
    options.node_details = EncodeNodeDetails(details_);
    options.on_error = [&failures](const Error& error) { failures.Add(error); };
    return options;
  }

  const std::string node_;
  const NodeDetails details_;
  sync::Syncer syncer_;
  sync::CheckRunner checks_;
  const std::unique_ptr<Catalog> catalog_;  // null: it has none
  AgentRoutes routes_;
  Router router_;
  std::unique_ptr<Listener> listener_;
};

// Each listener has a thread and a few files.
void AllowManyFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

bool OpenLanes(const std::string& endpoints, const Plan& plan, std::vector<Lane>& lanes) {
  for (Lane& lane : lanes) {
    auto client = sync::ConnectProbe(endpoints);
    if (!client) return false;
    lane.client = *std::move(client);
    const auto call_timeout = std::max<Duration>(1s, std::chrono::seconds(plan.ttl_s) / 3);
    lane.store = std::make_unique<sync::ClientStore>(
        *lane.client,
        sync::ClientStoreOptions{.call_timeout = call_timeout, .call_threads = kCallThreads});
  }
  return true;
}

int RunAgents(const std::string& endpoints, const Plan& plan) {
  AllowManyFiles();
  Failures failures;
  sync::SystemProber prober;
  std::vector<Lane> lanes(2);
  if (!OpenLanes(endpoints, plan, lanes)) return 1;
  std::vector<std::unique_ptr<HttpAgent>> agents;
  nlohmann::json addresses = nlohmann::json::object();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < plan.nodes; ++i) {
    std::this_thread::sleep_until(begin +
                                  std::chrono::milliseconds(plan.start_s * 1000) * i / plan.nodes);
    Lane& lane = lanes[static_cast<std::size_t>(i) % lanes.size()];
    agents.push_back(
        std::make_unique<HttpAgent>(plan, plan.first_node + i, lane, prober, failures));
    if (!agents.back()->Start()) return 1;
    addresses[agents.back()->node()] = agents.back()->address();
  }
  sync::Say(addresses.dump());
  for (std::string command; std::getline(std::cin, command);) {
    if (command == "state") sync::Say(failures.State().dump());
  }
  return 0;
}

}  // namespace
}  // namespace kvorum::consul

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 7) return 2;
  return kvorum::consul::RunAgents(arguments[0], {.root = arguments[1],
                                                  .first_node = std::stoi(arguments[2]),
                                                  .nodes = std::stoi(arguments[3]),
                                                  .ttl_s = std::stoi(arguments[4]),
                                                  .start_s = std::stoi(arguments[5]),
                                                  .copies = std::stoi(arguments[6])});
}
