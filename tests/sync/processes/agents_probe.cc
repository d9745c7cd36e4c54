// Many agents in one process, for tests: they register what runs on their nodes, and what runs
// there changes at a rate, until the process is ended.
//
//   sync-agents-probe ENDPOINTS ROOT FIRST_NODE NODES TTL_S CHANGES_PER_S START_S
//
// The nodes start evenly over START_S. Each has two services with a check, which fail and recover,
// and a job, which comes and goes. Commands on standard input, each answered by a line of JSON:
//
//   truth   {node: {id: [service, value, health]}} of these agents; nothing changes from here on
//   change  {}: changes go on
//   state   {"fulls": {second of the monotonic clock: full syncs that ended in it},
//            "errors": count, "last_error": text}
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/executor.h"
#include "client/client.h"
#include "sync/agent/catalog.h"
#include "sync/agent/syncer.h"
#include "sync/store/client_store.h"
#include "tests/sync/processes/probe_client.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;

constexpr int kCallThreads = 4;

// A connection to the cluster and a thread, which many agents share.
struct Lane {
  std::unique_ptr<client::Client> client;
  std::unique_ptr<ClientStore> store;
  ThreadExecutor executor{"agents"};
};

// The reports of all agents.
class Log {
 public:
  void FullSync() {
    const std::lock_guard lock(mutex_);
    ++fulls_[std::chrono::floor<std::chrono::seconds>(
                 std::chrono::steady_clock::now().time_since_epoch())
                 .count()];
  }
  void Failed(const Error& error) {
    const std::lock_guard lock(mutex_);
    ++errors_;
    last_error_ = error.message;
  }
  nlohmann::json State() const {
    const std::lock_guard lock(mutex_);
    nlohmann::json fulls = nlohmann::json::object();
    for (const auto& [second, count] : fulls_) fulls[std::to_string(second)] = count;
    return {{"fulls", fulls}, {"errors", errors_}, {"last_error", last_error_}};
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::int64_t, int> fulls_;
  std::uint64_t errors_ = 0;
  std::string last_error_;
};

struct Plan {
  std::string root;
  int first_node = 0;
  int nodes = 0;
  int ttl_s = 0;
  int changes_per_s = 0;
  int start_s = 0;
};

std::string NodeName(int number) {
  char name[32];
  std::snprintf(name, sizeof(name), "node-%05d", number);
  return name;
}

Entry Service(const std::string& name, int node) {
  return {.id = name + "-1",
          .name = name,
          .value = "10.0." + std::to_string(node / 250) + "." + std::to_string(node % 250) + ":80",
          .checks = {{.definition = {.id = "up"}, .health = Health::kPassing}}};
}

class Agents {
 public:
  Agents(const Plan& plan, std::vector<Lane>& lanes) : plan_(plan) {
    for (int i = 0; i < plan.nodes; ++i) {
      const int node = plan.first_node + i;
      SyncerOptions options;
      options.root = plan.root;
      options.node = NodeName(node);
      options.ttl_s = plan.ttl_s;
      options.on_full_sync = [this] { log_.FullSync(); };
      options.on_error = [this](const Error& error) { log_.Failed(error); };
      Lane& lane = lanes[static_cast<std::size_t>(i) % lanes.size()];
      syncers_.push_back(std::make_unique<Syncer>(*lane.store, lane.executor, options));
      Register(*syncers_.back(), Service("web", node));
      Register(*syncers_.back(), Service("db", node));
    }
  }

  void Run() {
    std::jthread life([this](const std::stop_token& stop) { Live(stop); });
    for (std::string command; std::getline(std::cin, command);) {
      if (command == "truth") {
        const std::lock_guard lock(mutex_);
        is_still_ = true;
        Say(Truth());
      } else if (command == "change") {
        const std::lock_guard lock(mutex_);
        is_still_ = false;
        Say(nlohmann::json::object());
      } else if (command == "state") {
        Say(log_.State());
      }
    }
  }

 private:
  static void Say(const nlohmann::json& answer) {
    std::cout << answer.dump() << '\n' << std::flush;
  }

  void Register(Syncer& syncer, Entry entry) {
    if (auto done = syncer.Register(std::move(entry)); !done) log_.Failed(done.error());
  }

  void Live(const std::stop_token& stop) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < syncers_.size() && !stop.stop_requested(); ++i) {
      std::this_thread::sleep_until(begin + i * std::chrono::milliseconds(plan_.start_s * 1000) /
                                                syncers_.size());
      if (!syncers_[i]->Start()) std::abort();  // its name is valid
    }
    std::mt19937_64 chance(static_cast<std::uint64_t>(plan_.first_node));
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(1000000us / plan_.changes_per_s);
      const std::lock_guard lock(mutex_);
      if (!is_still_) ChangeOne(chance);
    }
  }

  void ChangeOne(std::mt19937_64& chance) {
    const std::size_t number = chance() % syncers_.size();
    Syncer& syncer = *syncers_[number];
    if (chance() % 5 == 0) {
      const Entry job = Service("job", plan_.first_node + static_cast<int>(number));
      if (!syncer.Deregister(job.id)) Register(syncer, job);
      return;
    }
    const auto health = static_cast<Health>(chance() % 3);
    const std::string id = chance() % 2 == 0 ? "web-1" : "db-1";
    const std::string output = std::string(HealthName(health)) + " " + std::to_string(chance());
    if (auto done = syncer.UpdateCheck(id, "up", health, output); !done) log_.Failed(done.error());
  }

  nlohmann::json Truth() const {
    nlohmann::json truth = nlohmann::json::object();
    for (std::size_t i = 0; i < syncers_.size(); ++i) {
      nlohmann::json& node = truth[NodeName(plan_.first_node + static_cast<int>(i))];
      for (const auto& listed : syncers_[i]->List(Registry::Which::kVisible)) {
        const Health health = listed.entry.checks.front().health;
        node[listed.entry.id] = {listed.entry.name, listed.entry.value, HealthName(health)};
      }
    }
    return truth;
  }

  const Plan plan_;
  Log log_;
  std::mutex mutex_;  // held over a change, and over the truth
  bool is_still_ = false;
  std::vector<std::unique_ptr<Syncer>> syncers_;
};

int RunAgents(const std::vector<std::string>& arguments) {
  const Plan plan{.root = arguments[1],
                  .first_node = std::stoi(arguments[2]),
                  .nodes = std::stoi(arguments[3]),
                  .ttl_s = std::stoi(arguments[4]),
                  .changes_per_s = std::stoi(arguments[5]),
                  .start_s = std::stoi(arguments[6])};
  std::vector<Lane> lanes(2);
  for (Lane& lane : lanes) {
    auto client = ConnectProbe(arguments[0]);
    if (!client) return 1;
    lane.client = *std::move(client);
    // A call that the death of a member has left without an answer leaves time for another one.
    const auto call_timeout = std::max<Duration>(1s, std::chrono::seconds(plan.ttl_s) / 3);
    lane.store = std::make_unique<ClientStore>(
        *lane.client,
        ClientStoreOptions{.call_timeout = call_timeout, .call_threads = kCallThreads});
  }
  Agents(plan, lanes).Run();
  return 0;
}

}  // namespace
}  // namespace kvorum::sync

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 7) return 2;
  return kvorum::sync::RunAgents(arguments);
}
