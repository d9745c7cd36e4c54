// --discovery-srv: the members of a new cluster, from the SRV records of a domain.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/net/srv_records.h"
#include "server/process/settings/options.h"

namespace kvorum::server {

// The outside, for tests: records of a service, and "1.2.3.4:2380" for a host and port.
struct NameService {
  std::function<Result<std::vector<SrvRecord>>(std::string_view service, std::string_view domain)>
      records;
  std::function<Result<std::string>(const std::string& host, std::uint16_t port)> address;
};
NameService SystemNames();

// Makes the text for --initial-cluster: a member for each record of _etcd-server-ssl._tcp and
// _etcd-server._tcp. The one at an address that this member advertises has its name, others are
// numbered. Fails if no service has records, or none is this member.
Result<std::string> InitialClusterFromDns(const Options& options, const NameService& names);

// The name that the certificates of the others must have, once `options` has a cluster from DNS.
// Records of DNS can be forged: without a CA of one's own a member must prove that it belongs to
// the domain. Empty: the name of the host that is dialled.
std::string PeerServerName(const Options& options);

}  // namespace kvorum::server
