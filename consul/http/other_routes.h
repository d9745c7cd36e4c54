// The rest of /v1 that is neither the catalog's nor an agent's: status, coordinates, and what is
// refused by name so that a client's user reads why.
//
// Thread-safe. The parts outlive the routes and their requests.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "consul/http/exchange.h"

namespace kvorum::consul {

// The cluster's servers, as HOST:PORT of the port that Consul's servers have.
struct ServerList {
  std::string leader = {};  // empty: there is none
  std::vector<std::string> peers = {};
};
struct OtherParts {
  // Begins to ask; answers once, on any thread.
  using OnServers = std::move_only_function<void(Result<ServerList>)>;
  std::function<void(OnServers on_servers)> ask_servers;
  std::string datacenter = "dc1";
};
std::vector<Route> OtherRoutes(const OtherParts& parts);

// The host of a member's URL with the port of Consul's servers (8300), which need not
// answer. An empty URL is an empty text.
std::string ServerAddress(std::string_view url);

}  // namespace kvorum::consul
