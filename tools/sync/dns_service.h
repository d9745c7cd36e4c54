// The catalog by DNS, as a part of a long-running command (--dns-address, --dns-domain). Used by
// its main thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "consul/catalog/catalog_copy.h"
#include "dns/catalog_directory.h"
#include "dns/server.h"
#include "sync/store/store.h"
#include "tools/run/long_run.h"
#include "tools/sync/consul_names.h"

namespace kvorum::ctl {

class DnsService {
 public:
  struct Settings {
    std::string address = {};  // empty: no DNS
    std::string domain = {};   // of Consul's names; empty: none of them
    std::string datacenter = "dc1";
    std::string node = {};  // this one; empty: none
    std::string root = "/kvorum";
  };
  static std::vector<Flag> Flags();
  // Reads the flags; a domain without an address is an error. The rest is the caller's.
  static Outcome<Settings> SettingsFrom(const FlagSet& flags);

  // Reports the address that it took. The run, the store and the executor outlive it.
  static Outcome<std::unique_ptr<DnsService>> Open(const Settings& settings, LongRun& run,
                                                   sync::Store& store, Executor& executor);
  ~DnsService();
  DnsService(const DnsService&) = delete;
  DnsService& operator=(const DnsService&) = delete;

 private:
  // Answers Consul's names.
  struct Consul {
    Consul(const std::string& root, LongRun& run, sync::Store& store, Executor& executor);
    consul::CatalogCopy copy;
    ConsulNames names{copy};
  };
  DnsService(const Settings& settings, LongRun& run, sync::Store& store, Executor& executor);

  dns::CatalogDirectory directory_;
  std::unique_ptr<Consul> consul_;  // null: there is no domain for it
  std::unique_ptr<dns::Server> server_;
};

}  // namespace kvorum::ctl
