// Endpoints named by DNS: SRV records of _etcd-client-ssl._tcp.DOMAIN (TLS) and
// _etcd-client._tcp.DOMAIN (without).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvorum::client {

// Asks the system's name servers; blocks until they answer or give up. Returns URLs, those with TLS
// first. `service_name`, unless empty, is appended to the service: etcd-client-NAME. kUnavailable:
// neither name has records.
Result<std::vector<std::string>> DiscoverEndpoints(std::string_view domain,
                                                   std::string_view service_name);

}  // namespace kvorum::client
