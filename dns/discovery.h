// The catalog as Consul's names need it: what lives, with its nodes, tags and weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dns/message.h"

namespace kvorum::dns {

struct DiscoveredNode {
  std::string name;
  std::optional<Host> address = {};  // nothing: it has none that DNS can say
  std::vector<std::pair<std::string, std::string>> meta = {};
};

struct DiscoveredInstance {
  DiscoveredNode node;               // without its meta
  std::optional<Host> address = {};  // its own; nothing: the node's
  std::uint16_t port = 0;
  std::uint16_t weight = 1;
};

// Thread-safe; a call waits for nothing. Names and tags are given in lower case and found in any.
class Discovery {
 public:
  virtual ~Discovery() = default;
  // The revision of what the others see, or a later one's predecessor; 0: nothing is known yet.
  virtual std::int64_t revision() const = 0;
  // The instances whose node lives and that have no critical check, with the tag; an empty tag is
  // any.
  virtual std::vector<DiscoveredInstance> Instances(const std::string& service,
                                                    const std::string& tag) const = 0;
  // Nothing: there is no such node, or its agent is dead.
  virtual std::optional<DiscoveredNode> Node(const std::string& name) const = 0;
  // The owner of an address (not of a name): a node that lives, or else a service with an instance
  // that has it for its own. Nothing: there is neither.
  struct Owner {
    bool is_node = false;
    std::string name = {};  // the node's or the service's
  };
  virtual std::optional<Owner> OwnerOf(const Host& address) const = 0;
};

}  // namespace kvorum::dns
