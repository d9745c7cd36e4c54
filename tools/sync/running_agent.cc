#include "tools/sync/running_agent.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

namespace kvorum::ctl {
namespace {

// A call must not outlast what it renews.
std::chrono::nanoseconds CallTimeout(const sync::SyncerOptions& options) {
  const std::chrono::nanoseconds third = std::chrono::seconds(options.ttl_s) / 3;
  return std::min<std::chrono::nanoseconds>(third, sync::ClientStoreOptions{}.call_timeout);
}

Result<void> Leave(sync::Syncer& syncer) {
  std::promise<Result<void>> left;
  syncer.Leave([&](Result<void> result) { left.set_value(std::move(result)); });
  auto result = left.get_future().get();
  syncer.Stop();  // and with it the setter of the promise
  return result;
}

}  // namespace

void AgentEnding::Left() {
  has_left_ = true;
  stop_.request_stop();
}

void AgentEnding::Wait() const {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, stop_.get_token(), [] { return false; });
}

RunningAgent::RunningAgent(LongRun& run, client::Client& client, sync::SyncerOptions options,
                           const sync::AgentState& state, std::string folder)
    : run_(run),
      client_(client),
      folder_(std::move(folder)),
      node_(options.node),
      root_(options.root),
      ending_(run.token()),
      store_(client, {.call_timeout = CallTimeout(options)}),
      tokens_(store_, consul::ConnectWith(run.session().options()), executor_.clock(), {}),
      syncer_(store_, executor_, WithReports(std::move(options)), state),
      aliases_(prober_, syncer_, executor_.clock(), node_),
      checks_(executor_, aliases_, syncer_),
      control_({.node = node_,
                .syncer = syncer_,
                .checks = checks_,
                .clock = executor_.clock(),
                .reload = folder_.empty() ? std::function<Result<sync::Json>()>()
                                          : [this] { return Reload(); },
                .on_left = [this] { ending_.Left(); }}) {}

Outcome<void> RunningAgent::Start(const ServiceFolder& folder, DnsService::Settings dns,
                                  const ConsulService::Settings& http) {
  node_address_ = http.node.address;
  if (!folder_.empty()) {
    for (const std::string& warning : folder.warnings) run_.reporter().Warn(warning);
    const FolderChanges changes = ApplyServiceFolder(folder, syncer_);
    for (const std::string& refusal : changes.refused) run_.reporter().Warn(refusal);
  }
  if (!dns.address.empty()) {
    dns.node = node_;
    dns.root = root_;
    KV_TRY(dns_, DnsService::Open(dns, run_, store_, executor_));
  }
  KV_RETURN_IF_ERROR(run_.Serve(calls_, control_.Handlers()));
  if (!http.address.empty()) KV_RETURN_IF_ERROR(StartHttp(http));
  checks_.Refresh();
  if (const auto begun = syncer_.Start(); !begun) return BadArguments(begun.error().message);
  return {};
}

Outcome<void> RunningAgent::StartHttp(const ConsulService::Settings& settings) {
  ConsulService::Parts parts{.run = run_,
                             .client = client_,
                             .syncer = syncer_,
                             .checks = checks_,
                             .aliases = aliases_,
                             .node = node_,
                             .root = root_,
                             .on_left = [this] { ending_.Left(); }};
  if (!folder_.empty()) {
    parts.on_reload = [this]() -> Result<void> {
      KV_TRY(const sync::Json done, Reload());
      return {};
    };
  }
  KV_TRY(http_, ConsulService::Open(settings, std::move(parts)));
  return {};
}

void RunningAgent::ReloadLater() {
  if (folder_.empty()) return;
  calls_.Post([this] {
    if (const auto done = Reload(); !done) run_.reporter().Warn(done.error().message);
  });
}

Result<void> RunningAgent::Stop(bool leaves) {
  run_.StopServing();
  calls_.Stop();
  checks_.Stop();  // first: an alias without a catalog is critical
  http_ = nullptr;
  dns_ = nullptr;
  Result<void> left;
  if (leaves && !ending_.has_left()) left = Leave(syncer_);
  syncer_.Stop();
  return left;
}

// They are called once the syncer has been started, when everything is there.
sync::SyncerOptions RunningAgent::WithReports(sync::SyncerOptions options) {
  options.metrics = &run_.metrics();
  options.on_error = [this](const Error& error) {
    run_.reporter().Warn(error.message);
    control_.Failed(error);
  };
  options.store_of = [this](const std::string& token, sync::CatalogPassOptions::OnStore on_store) {
    tokens_.StoreOf(token, std::move(on_store));
  };
  options.on_full_sync = [this] {
    ReportSynced();
    control_.Synced();
  };
  return options;
}

void RunningAgent::ReportSynced() {
  const std::string nodes = std::to_string(syncer_.status().nodes);
  const std::string count = std::to_string(syncer_.List(sync::Registry::Which::kVisible).size());
  run_.reporter().Event("synced", {{"entries", count}, {"nodes", nodes}},
                        node_ + ": synced, " + count + " entries, " + nodes + " nodes");
}

// The good files count; an error names those that are bad.
Result<sync::Json> RunningAgent::Reload() {
  KV_TRY(const ServiceFolder folder, ReadServiceFolder(folder_, node_address_));
  const FolderChanges changes = ApplyServiceFolder(folder, syncer_);
  checks_.Refresh();
  const std::string registered = std::to_string(changes.registered);
  const std::string deregistered = std::to_string(changes.deregistered);
  run_.reporter().Event(
      "reloaded", {{"registered", registered}, {"deregistered", deregistered}},
      node_ + ": reloaded, " + registered + " registered, " + deregistered + " deregistered");
  for (const std::string& warning : folder.warnings) run_.reporter().Warn(warning);
  std::string problems;
  const auto add = [&](const std::string& problem) {
    problems += (problems.empty() ? "" : "; ") + problem;
  };
  for (const ServiceFolder::BadFile& bad : folder.bad) add(bad.problem);
  for (const std::string& refusal : changes.refused) add(refusal);
  if (!problems.empty()) return Fail(Code::kInvalidArgument, problems);
  return sync::Json{{"registered", changes.registered}, {"deregistered", changes.deregistered}};
}

}  // namespace kvorum::ctl
