// Endpoints named by DNS: SRV records of _etcd-client-ssl._tcp.DOMAIN (TLS) and
// _etcd-client._tcp.DOMAIN (without).
#pragma once

#include <cstdint>
#include <span>
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

struct SrvRecord {
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  std::uint16_t port = 0;
  std::string target;

  friend bool operator==(const SrvRecord&, const SrvRecord&) = default;
};

// The SRV records of a name server's answer, lowest priority and highest weight first. kDataLoss if
// the bytes are not such an answer.
Result<std::vector<SrvRecord>> ParseSrvAnswer(std::span<const std::uint8_t> message);

}  // namespace kvorum::client
