// The catalog's kept records (consul/catalog) as Consul's names in DNS need them: of what lives,
// the nodes and the instances without a critical check.
//
// Thread-safe; the copy outlives it. Memory: the names of all services and nodes in lower case.
// Cost of a question: a look-up, and one walk over all names after the set of them has changed.
#pragma once

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

 private:
  // The names that are one in lower case, as they are registered, of the state of an index.
  struct Spellings {
    std::uint64_t index = 0;
    std::multimap<std::string, std::string> names = {};
  };
  using KindOfName = consul::Topic::Kind;
  std::vector<std::string> SpellingsOf(KindOfName kind, const std::string& name) const;
  std::multimap<std::string, std::string> AllNames(KindOfName kind) const;

  const consul::CatalogCopy& copy_;
  mutable std::mutex mutex_;
  mutable Spellings services_;
  mutable Spellings nodes_;
};

}  // namespace kvorum::ctl
