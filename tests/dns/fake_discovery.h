// A catalog of Consul's kind of the test's own. Nodes, services and tags are given in lower case.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dns/discovery.h"
#include "dns/endpoint.h"

namespace kvorum::dns {

class FakeDiscovery final : public Discovery {
 public:
  struct Service {
    std::string node;
    std::uint16_t port = 0;
    std::string address = {};  // empty: the node's
    std::vector<std::string> tags = {};
    std::uint16_t weight = 1;
  };
  FakeDiscovery& AddNode(const std::string& name, std::string_view address,
                         std::vector<std::pair<std::string, std::string>> meta = {}) {
    nodes_[name] = {.name = name, .address = ParseHost(address), .meta = std::move(meta)};
    return *this;
  }
  FakeDiscovery& Add(const std::string& name, Service service) {
    services_[name].push_back(std::move(service));
    return *this;
  }
  void set_revision(std::int64_t revision) { revision_ = revision; }

  std::int64_t revision() const override { return revision_; }
  std::vector<DiscoveredInstance> Instances(const std::string& service,
                                            const std::string& tag) const override {
    std::vector<DiscoveredInstance> instances;
    const auto found = services_.find(service);
    if (found == services_.end()) return instances;
    for (const Service& each : found->second) {
      if (!tag.empty() && std::ranges::find(each.tags, tag) == each.tags.end()) continue;
      const auto node = nodes_.find(each.node);
      instances.push_back(
          {.node = node == nodes_.end() ? DiscoveredNode{.name = each.node} : node->second,
           .address = ParseHost(each.address),
           .port = each.port,
           .weight = each.weight});
    }
    return instances;
  }
  std::optional<DiscoveredNode> Node(const std::string& name) const override {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Owner> OwnerOf(const Host& address) const override {
    for (const auto& [name, node] : nodes_) {
      if (node.address == address) return Owner{.is_node = true, .name = name};
    }
    for (const auto& [name, instances] : services_) {
      for (const Service& each : instances) {
        if (ParseHost(each.address) == address) return Owner{.name = name};
      }
    }
    return std::nullopt;
  }

 private:
  std::map<std::string, DiscoveredNode> nodes_;
  std::map<std::string, std::vector<Service>> services_;
  std::int64_t revision_ = 9;
};

}  // namespace kvorum::dns
