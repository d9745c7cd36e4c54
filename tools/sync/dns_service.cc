#include "tools/sync/dns_service.h"

#include <optional>
#include <utility>

#include "tools/text/json.h"

namespace kvorum::ctl {

std::vector<Flag> DnsService::Flags() {
  return {{"dns-address", FlagType::kString, "",
           "answer DNS questions for NAME.service.kvorum at this ADDRESS:PORT, "
           "over UDP and TCP"},
          {"dns-domain", FlagType::kString, "",
           "answer Consul's names (NAME.service.DOMAIN, NODE.node.DOMAIN) below this domain too, "
           "such as consul"}};
}

Outcome<DnsService::Settings> DnsService::SettingsFrom(const FlagSet& flags) {
  Settings settings{.address = flags.String("dns-address"), .domain = flags.String("dns-domain")};
  if (settings.address.empty() && !settings.domain.empty())
    return BadArguments("--dns-domain needs --dns-address");
  return settings;
}

Outcome<std::unique_ptr<DnsService>> DnsService::Open(const Settings& settings, LongRun& run,
                                                      sync::Store& store, Executor& executor) {
  std::unique_ptr<DnsService> service(new DnsService(settings, run, store, executor));
  std::optional<dns::ConsulZone> zone;
  if (service->consul_ != nullptr) {
    auto made = dns::ConsulZone::Make(
        service->consul_->names,
        {.domain = settings.domain, .datacenter = settings.datacenter, .node = settings.node});
    if (!made) return BadArguments(made.error().message);
    zone = *std::move(made);
  }
  auto server =
      dns::Server::Open(settings.address, service->directory_, {}, &run.metrics(), std::move(zone));
  if (!server && server.error().code == Code::kInvalidArgument)
    return BadArguments(server.error().message);
  KV_TRY(service->server_, OfThisMachine(std::move(server)));
  const std::string taken = service->server_->address();
  run.reporter().Event("dns", {{"address", JsonString(taken)}}, "DNS at " + taken);
  return service;
}

DnsService::DnsService(const Settings& settings, LongRun& run, sync::Store& store,
                       Executor& executor)
    : directory_(store, executor,
                 {.root = settings.root,
                  .metrics = &run.metrics(),
                  .on_report = [&run](const std::string& text) { run.reporter().Warn(text); }}) {
  if (settings.domain.empty()) return;
  consul_ = std::make_unique<Consul>(settings.root, run, store, executor);
  consul_->copy.Start();
}

DnsService::~DnsService() {
  server_ = nullptr;  // which asks the copy
  if (consul_ != nullptr) consul_->copy.Stop();
}

DnsService::Consul::Consul(const std::string& root, LongRun& run, sync::Store& store,
                           Executor& executor)
    : copy(store, executor, {.root = root, .on_report = [&run](const std::string& text) {
                               run.reporter().Warn(text);
                             }}) {}

}  // namespace kvorum::ctl
