// Consul's HTTP API as a part of `agent run` (--http-address and its flags). Used by the command's
// main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/client.h"
#include "consul/catalog/alias_prober.h"
#include "consul/model/records.h"
#include "sync/agent/syncer.h"
#include "sync/checks/check_runner.h"
#include "tools/run/long_run.h"

namespace kvorum::ctl {

class ConsulService {
 public:
  struct Settings {
    std::string address = {};  // empty: no API
    std::string certificate_file = {};
    std::string key_file = {};
    std::string client_ca_file = {};
    bool is_read_only = false;
    std::uint32_t max_connections_per_client = 0;  // 0: no limit
    std::string kv_root = {};                      // empty: below the catalog's root
    std::string datacenter = "dc1";
    consul::NodeDetails node = {};
    Duration reap_after{};
  };
  static std::vector<Flag> Flags();
  // The flags' values about the API and this node.
  static Outcome<Settings> SettingsFrom(const FlagSet& flags, const std::string& node);

  // The objects that the API works on; all of them outlive the service.
  struct Parts {
    LongRun& run;
    client::Client& client;
    sync::Syncer& syncer;
    sync::CheckRunner& checks;
    consul::AliasProber& aliases;  // gets the catalog while the service is there
    std::string node;
    std::string root;
    std::function<Result<void>()> on_reload = {};  // null: there is nothing to reload
    std::function<void()> on_left = {};            // the keys are gone: the command ends
  };
  // Reports the address that it took.
  static Outcome<std::unique_ptr<ConsulService>> Open(const Settings& settings, Parts parts);
  // Answers those who wait, then ends.
  ~ConsulService();
  ConsulService(const ConsulService&) = delete;
  ConsulService& operator=(const ConsulService&) = delete;

 private:
  class Impl;
  explicit ConsulService(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::ctl
