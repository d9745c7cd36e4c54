// The catalog by DNS, as a part of a long-running command (--dns-address). Used by its main thread.
#pragma once

#include <memory>
#include <string>

#include "base/task.h"
#include "dns/catalog_directory.h"
#include "dns/server.h"
#include "sync/store/store.h"
#include "tools/run/long_run.h"

namespace kvorum::ctl {

class DnsService {
 public:
  static Flag AddressFlag();
  // Reports the address that it took. The run, the store and the executor outlive it.
  static Outcome<std::unique_ptr<DnsService>> Open(const std::string& address,
                                                   const std::string& root, LongRun& run,
                                                   sync::Store& store, Executor& executor);

 private:
  DnsService(const std::string& root, LongRun& run, sync::Store& store, Executor& executor);

  dns::CatalogDirectory directory_;
  std::unique_ptr<dns::Server> server_;
};

}  // namespace kvorum::ctl
