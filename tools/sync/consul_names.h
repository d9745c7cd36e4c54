// The catalog's kept records (consul/catalog) as Consul's names in DNS need them: of what lives,
// the nodes and the instances without a critical check.
//
// Thread-safe; the copy outlives it. Memory: the names of all services and nodes in lower case, and
// their addresses once one is asked for. Cost of a question: a look-up, and one walk over all names
// after the set of them has changed; of one for an address, a walk a second at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "consul/catalog/catalog_copy.h"
#include "dns/discovery.h"

namespace kvorum::ctl {

class ConsulNames final : public dns::Discovery {
 public:
  explicit ConsulNames(const consul::CatalogCopy& copy) : copy_(copy) {}

  std::int64_t revision() const override;
  std::vector<dns::DiscoveredInstance> Instances(const std::string& service,
                                                 const std::string& tag) const override;
  std::optional<dns::DiscoveredNode> Node(const std::string& name) const override;
  // By a table that is at most a second older than the copy.
  std::optional<Owner> OwnerOf(const dns::Host& address) const override;

 private:
  // The names that are one in lower case, as they are registered, of the state of an index.
  struct Spellings {
    std::uint64_t index = 0;
    std::multimap<std::string, std::string> names = {};
  };
  using KindOfName = consul::Topic::Kind;
  std::vector<std::string> SpellingsOf(KindOfName kind, const std::string& name) const;
  std::multimap<std::string, std::string> AllNames(KindOfName kind) const;
  std::map<dns::Host, Owner> AllAddresses() const;

  const consul::CatalogCopy& copy_;
  mutable std::mutex mutex_;
  mutable Spellings services_;
  mutable Spellings nodes_;
  mutable std::map<dns::Host, Owner> owners_;
  mutable std::int64_t owners_revision_ = 0;
  mutable std::chrono::steady_clock::time_point owners_made_{};
};

}  // namespace kvorum::ctl
