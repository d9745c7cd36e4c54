// The parts of `agent run`: the syncer and its checks, the folder of services, what other commands
// ask through the socket, DNS, Consul's HTTP API.
//
// Used by the command's thread; ReloadLater is thread-safe. Run, client and what the options call
// outlive it.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "base/executor.h"
#include "consul/catalog/alias_prober.h"
#include "consul/http/store_access.h"
#include "sync/agent/syncer.h"
#include "sync/checks/check_runner.h"
#include "sync/checks/system_prober.h"
#include "sync/store/client_store.h"
#include "tools/run/long_run.h"
#include "tools/sync/agent_control.h"
#include "tools/sync/consul_service.h"
#include "tools/sync/dns_service.h"
#include "tools/sync/service_folder.h"

namespace kvorum::ctl {

// The end of the command: a signal, or that the keys were removed on request.
class AgentEnding {
 public:
  explicit AgentEnding(std::stop_token signals) : on_signal_(std::move(signals), Request{stop_}) {}
  void Left();
  bool has_left() const { return has_left_; }
  void Wait() const;

 private:
  struct Request {
    std::stop_source stop;
    void operator()() { stop.request_stop(); }
  };
  std::stop_source stop_;
  std::atomic<bool> has_left_ = false;
  const std::stop_callback<Request> on_signal_;
};

class RunningAgent {
 public:
  // An empty text means no folder.
  RunningAgent(LongRun& run, client::Client& client, sync::SyncerOptions options,
               const sync::AgentState& state, std::string folder);

  // Registers the folder's services and begins. Of DNS the node and the root are this agent's.
  Outcome<void> Start(const ServiceFolder& folder, DnsService::Settings dns,
                      const ConsulService::Settings& http);
  // Reads the folder again; returns at once.
  void ReloadLater();
  const AgentControl& control() const { return control_; }
  void WaitForEnd() const { ending_.Wait(); }
  // Removes the keys first, if they are to go and have not gone.
  Result<void> Stop(bool leaves);

 private:
  sync::SyncerOptions WithReports(sync::SyncerOptions options);
  Result<sync::Json> Reload();
  void ReportSynced();

  Outcome<void> StartHttp(const ConsulService::Settings& settings);

  LongRun& run_;
  client::Client& client_;
  const std::string folder_;
  const std::string node_;
  std::string node_address_ = {};  // of Consul's services without one; set before anything runs
  const std::string root_;
  AgentEnding ending_;
  ThreadExecutor executor_{"agent"};
  ThreadExecutor calls_{"agent-calls"};  // of the control socket, and reading the folder
  sync::ClientStore store_;
  consul::TokenStores tokens_;  // of entries that have one
  sync::Syncer syncer_;
  sync::SystemProber prober_;
  consul::AliasProber aliases_;
  sync::CheckRunner checks_;
  AgentControl control_;
  std::unique_ptr<DnsService> dns_;
  std::unique_ptr<ConsulService> http_;
};

}  // namespace kvorum::ctl
