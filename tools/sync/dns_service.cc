#include "tools/sync/dns_service.h"

#include <utility>

#include "tools/text/json.h"

namespace kvorum::ctl {

Flag DnsService::AddressFlag() {
  return {"dns-address", FlagType::kString, "",
          "answer DNS questions for NAME.service.kvorum at this ADDRESS:PORT, "
          "over UDP and TCP"};
}

Outcome<std::unique_ptr<DnsService>> DnsService::Open(const std::string& address,
                                                      const std::string& root, LongRun& run,
                                                      sync::Store& store, Executor& executor) {
  std::unique_ptr<DnsService> service(new DnsService(root, run, store, executor));
  auto server = dns::Server::Open(address, service->directory_, {}, &run.metrics());
  if (!server && server.error().code == Code::kInvalidArgument)
    return BadArguments(server.error().message);
  KV_TRY(service->server_, OfThisMachine(std::move(server)));
  const std::string taken = service->server_->address();
  run.reporter().Event("dns", {{"address", JsonString(taken)}}, "DNS at " + taken);
  return service;
}

DnsService::DnsService(const std::string& root, LongRun& run, sync::Store& store,
                       Executor& executor)
    : directory_(store, executor,
                 {.root = root,
                  .metrics = &run.metrics(),
                  .on_report = [&run](const std::string& text) { run.reporter().Warn(text); }}) {}

}  // namespace kvorum::ctl
