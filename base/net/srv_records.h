// SRV records of the domain name system, which say where a service of a domain is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvorum {

struct SrvRecord {
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  std::uint16_t port = 0;
  std::string target;  // without a dot at the end

  friend bool operator==(const SrvRecord&, const SrvRecord&) = default;
};

// The records of _SERVICE._tcp.DOMAIN. Asks the system's name servers; blocks until they answer or
// give up. kUnavailable, with the name, if there are none.
Result<std::vector<SrvRecord>> LookUpSrv(std::string_view service, std::string_view domain);

// The SRV records of a name server's answer, lowest priority and highest weight first. kDataLoss if
// the bytes are not such an answer.
Result<std::vector<SrvRecord>> ParseSrvAnswer(std::span<const std::uint8_t> message);

}  // namespace kvorum
