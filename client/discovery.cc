#include "client/discovery.h"

#include <array>

#include "base/net/srv_records.h"

namespace kvorum::client {

Result<std::vector<std::string>> DiscoverEndpoints(std::string_view domain,
                                                   std::string_view service_name) {
  struct Service {
    std::string_view name;
    std::string_view scheme;
  };
  constexpr auto kServices =
      std::to_array<Service>({{"etcd-client-ssl", "https://"}, {"etcd-client", "http://"}});
  const std::string suffix =
      service_name.empty() ? std::string() : std::string("-").append(service_name);
  std::vector<std::string> endpoints;
  std::string reasons;
  std::size_t failed = 0;
  for (const auto& [name, scheme] : kServices) {
    const auto records = LookUpSrv(std::string(name) + suffix, domain);
    if (!records) {
      reasons += (failed++ == 0 ? "" : " and ") + records.error().message;
      continue;
    }
    for (const SrvRecord& record : *records)
      endpoints.push_back(std::string(scheme) + record.target + ":" + std::to_string(record.port));
  }
  if (failed == kServices.size()) return Fail(Code::kUnavailable, "dns lookup errors: " + reasons);
  return endpoints;
}

}  // namespace kvorum::client
