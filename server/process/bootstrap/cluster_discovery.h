// --discovery-endpoints: the members of a new cluster, from keys of another, running cluster.
//
// Everything lies under /_etcd/registry/<token>: `_config/size` is written by the operator and says
// how many members there will be; `members/<id>` is written by each member, as "name=url,name=url".
// The first members by the revision in which their keys were created are the cluster; one that
// comes later is refused. Members wait until there are enough.
//
// The keys, lines of the log, order of steps and pauses between attempts are etcd's, so that
// members of both kinds can find each other. One thing is not: if the watch for further members
// fails, the members are read again, while etcd begins the same watch again, which may never
// succeed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace kvorum::server {

struct RegisteredKey {
  std::string key;
  std::string value;
  std::int64_t create_revision = 0;
};

// The cluster that is asked. Blocks its thread; each call has its own time-out.
class DiscoveryService {
 public:
  struct Listing {
    std::vector<RegisteredKey> rows;
    std::int64_t revision = 0;
  };
  virtual ~DiscoveryService() = default;
  // All keys from `key` to `range_end`; one key without it.
  virtual Result<Listing> Get(std::string_view key, std::string_view range_end) = 0;
  virtual Result<void> Put(std::string_view key, std::string_view value) = 0;
  // Gives each change from that revision on to `take`, until that returns false.
  using Take = std::function<bool(const RegisteredKey& change)>;
  virtual Result<void> Watch(std::string_view key, std::string_view range_end,
                             std::int64_t revision, const Take& take) = 0;
};

struct DiscoveringMember {
  std::string token;
  std::string endpoints;  // for the log
  std::string id;
  std::string peer_urls;  // "name=url,name=url"
};

// Registers the member and returns the text for --initial-cluster once the cluster is complete.
// `sleep` is called between attempts.
Result<std::string> JoinByDiscovery(DiscoveryService& service, const DiscoveringMember& member,
                                    const std::function<void(Duration)>& sleep);

}  // namespace kvorum::server
