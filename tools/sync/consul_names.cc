#include "tools/sync/consul_names.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include "base/letter_case.h"
#include "dns/endpoint.h"

namespace kvorum::ctl {
namespace {

constexpr std::chrono::seconds kOwnersAge(1);

using consul::CheckRecord;
using sync::Health;

bool Lives(const consul::NodeView& view) {
  return view.is_alive || (view.node != nullptr && view.node->is_external);
}

Health WorstOf(const std::vector<CheckRecord>& checks) {
  Health worst = Health::kPassing;
  for (const CheckRecord& check : checks) worst = std::max(worst, check.health);
  return worst;
}

Health HealthOf(const consul::Instance& instance) {
  const Health own = WorstOf(instance.service->checks);
  return instance.node.node == nullptr ? own : std::max(own, WorstOf(instance.node.node->checks));
}

bool HasTag(const consul::ServiceRecord& service, const std::string& tag) {
  return tag.empty() || std::ranges::any_of(service.details.tags, [&](const std::string& each) {
           return EqualsInAnyCase(each, tag);
         });
}

std::uint16_t Number16(int number) {
  return static_cast<std::uint16_t>(
      std::clamp(number, 0, int{std::numeric_limits<std::uint16_t>::max()}));
}

dns::DiscoveredInstance Discovered(const consul::Instance& instance, Health health) {
  const consul::ServiceDetails& details = instance.service->details;
  dns::DiscoveredInstance discovered{
      .node = {.name = instance.service->node},
      .address = dns::ParseHost(details.address),
      .port = Number16(details.port),
      .weight =
          Number16(health == Health::kWarning ? details.weight_warning : details.weight_passing)};
  if (instance.node.node != nullptr)
    discovered.node.address = dns::ParseHost(instance.node.node->details.address);
  return discovered;
}

}  // namespace

std::int64_t ConsulNames::revision() const { return copy_.is_listed() ? copy_.revision() : 0; }

std::vector<dns::DiscoveredInstance> ConsulNames::Instances(const std::string& service,
                                                            const std::string& tag) const {
  std::vector<dns::DiscoveredInstance> discovered;
  for (const std::string& name : SpellingsOf(KindOfName::kServices, service)) {
    for (const consul::Instance& instance : copy_.Instances(name)) {
      const Health health = HealthOf(instance);
      if (Lives(instance.node) && health != Health::kCritical && HasTag(*instance.service, tag))
        discovered.push_back(Discovered(instance, health));
    }
  }
  return discovered;
}

std::optional<dns::DiscoveredNode> ConsulNames::Node(const std::string& name) const {
  for (const std::string& spelling : SpellingsOf(KindOfName::kNodes, name)) {
    const consul::NodeView view = copy_.Node(spelling);
    if (view.node == nullptr || !Lives(view)) continue;
    const consul::NodeDetails& details = view.node->details;
    return dns::DiscoveredNode{.name = spelling,
                               .address = dns::ParseHost(details.address),
                               .meta = {details.meta.begin(), details.meta.end()}};
  }
  return std::nullopt;
}

std::optional<dns::Discovery::Owner> ConsulNames::OwnerOf(const dns::Host& address) const {
  const std::int64_t revision = copy_.revision();
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (owners_revision_ != revision && now - owners_made_ >= kOwnersAge) {
    owners_ = AllAddresses();
    owners_revision_ = revision;
    owners_made_ = now;
  }
  const auto found = owners_.find(address);
  return found == owners_.end() ? std::nullopt : std::optional(found->second);
}

// The first node by its name has an address, and nodes have it before services.
std::map<dns::Host, dns::Discovery::Owner> ConsulNames::AllAddresses() const {
  std::map<dns::Host, Owner> owners;
  const auto add = [&](const std::string& text, bool is_node, const std::string& name) {
    const auto host = dns::ParseHost(text);
    if (host && !std::holds_alternative<dns::Name>(*host))
      owners.try_emplace(*host, Owner{.is_node = is_node, .name = name});
  };
  for (const consul::NodeView& view : copy_.Nodes()) {
    if (Lives(view)) add(view.node->details.address, true, view.node->node);
  }
  for (const consul::Instance& instance : copy_.AllInstances()) {
    if (Lives(instance.node)) add(instance.service->details.address, false, instance.service->name);
  }
  return owners;
}

std::vector<std::string> ConsulNames::SpellingsOf(KindOfName kind, const std::string& name) const {
  // Before the names, so that a change that comes between is seen by the next question.
  const std::uint64_t index = copy_.IndexOf({.kind = kind});
  const std::lock_guard lock(mutex_);
  Spellings& spellings = kind == KindOfName::kNodes ? nodes_ : services_;
  if (spellings.index != index) spellings = {.index = index, .names = AllNames(kind)};
  std::vector<std::string> found;
  const auto [begin, end] = spellings.names.equal_range(name);
  for (auto at = begin; at != end; ++at) found.push_back(at->second);
  return found;
}

std::multimap<std::string, std::string> ConsulNames::AllNames(KindOfName kind) const {
  std::set<std::string> names;
  if (kind == KindOfName::kNodes) {
    for (const consul::NodeView& view : copy_.Nodes()) names.insert(view.node->node);
  } else {
    for (const consul::Instance& instance : copy_.AllInstances())
      names.insert(instance.service->name);
  }
  std::multimap<std::string, std::string> by_lower;
  for (const std::string& name : names) by_lower.emplace(LowerCase(name), name);
  return by_lower;
}

}  // namespace kvorum::ctl
