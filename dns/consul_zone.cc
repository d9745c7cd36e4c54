#include "dns/consul_zone.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "base/letter_case.h"
#include "dns/address_name.h"
#include "dns/endpoint.h"

namespace kvorum::dns {
namespace {

constexpr std::size_t kAnsweredKinds = 3;  // the first of them
constexpr std::array<std::string_view, 7> kKinds = {"service", "node",    "addr",   "query",
                                                    "connect", "virtual", "ingress"};
constexpr std::size_t kHexBytes = 32;              // the digits of an IPv6 address
constexpr std::string_view kRawMeta = "rfc1035-";  // keys whose values are texts as they are

std::size_t WireBytes(const Name& name) {
  std::size_t bytes = 1;
  for (const std::string& label : name) bytes += label.size() + 1;
  return bytes;
}

// Nothing if a label is empty or too long.
std::optional<Name> SplitName(std::string_view text) {
  Name name;
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view label = text.substr(0, dot);
    if (label.empty() || label.size() > kMaxLabelBytes) return std::nullopt;
    name.emplace_back(label);
    if (dot == std::string_view::npos) return name;
    text.remove_prefix(dot + 1);
  }
}

template <class Iterator>
std::string Joined(Iterator begin, Iterator end) {
  std::string text;
  for (Iterator at = begin; at != end; ++at) text += (at == begin ? "" : ".") + *at;
  return text;
}

Data AddressData(const Host& host) {
  if (const auto* v4 = std::get_if<Ipv4>(&host)) return *v4;
  if (const auto* v6 = std::get_if<Ipv6>(&host)) return *v6;
  return Cname{std::get<Name>(host)};
}

// RFC 1464: '=' and '`' in a key are quoted.
std::string MetaText(const std::string& key, const std::string& value) {
  if (key.starts_with(kRawMeta)) return value;
  std::string text;
  for (const char c : key) {
    if (c == '=' || c == '`') text += '`';
    text += c;
  }
  return text + "=" + value;
}

// Its place among the kinds; their number: it is not among them.
std::size_t KindOf(std::string_view label) {
  return static_cast<std::size_t>(std::ranges::find(kKinds, label) - kKinds.begin());
}

bool IsUnderscored(const std::string& label) { return label.size() > 1 && label.front() == '_'; }

}  // namespace

// A name without the domain, the datacenter and its kind.
struct ConsulZone::Asked {
  std::string kind;
  Name labels;
};

Result<ConsulZone> ConsulZone::Make(const Discovery& discovery, Options options) {
  const auto refuse = [&](const std::string& why) {
    return Fail(Code::kInvalidArgument, "the DNS domain \"" + options.domain + "\" " + why);
  };
  const std::string_view text = options.domain;
  const auto labels = SplitName(text.ends_with('.') ? text.substr(0, text.size() - 1) : text);
  if (!labels || !std::ranges::all_of(*labels, IsHostLabel)) return refuse("is not a name");
  Name apex;
  for (const std::string& label : *labels) apex.push_back(LowerCase(label));
  if (apex.back() == "kvorum") return refuse("lies in the zone kvorum, which has its own names");
  options.datacenter = LowerCase(options.datacenter);
  if (!IsHostLabel(options.datacenter))
    return Fail(Code::kInvalidArgument,
                "the datacenter \"" + options.datacenter + "\" is not a label of DNS");
  ConsulZone zone(discovery, std::move(options), std::move(apex));
  if (WireBytes(zone.AddressName(std::string(kHexBytes, '0'))) > kMaxNameBytes)
    return Fail(Code::kInvalidArgument, "the DNS domain is too long");
  return zone;
}

std::optional<ZoneData> ConsulZone::Find(const Name& name, std::uint16_t type) const {
  if (name.size() == apex_.size()) return Apex();
  const auto asked = Parse(name, type);
  if (!asked) return std::nullopt;
  // Names between the domain and what it holds exist, without data.
  if (asked->labels.empty())
    return asked->kind.empty() || KindOf(asked->kind) < kAnsweredKinds ? std::optional(ZoneData())
                                                                       : std::nullopt;
  if (asked->kind == "service") return FindService(asked->labels);
  if (asked->kind == "node") return FindNode(asked->labels);
  if (asked->kind != "addr" || asked->labels.size() != 1) return std::nullopt;
  const auto address = AddressOf(asked->labels.front());
  return address ? std::optional(ZoneData{.data = {*address}}) : std::nullopt;
}

// The kind is the last label that is one, so that a node may be called service.
std::optional<ConsulZone::Asked> ConsulZone::Parse(const Name& name, std::uint16_t type) const {
  Name labels(name.begin(), name.end() - static_cast<std::ptrdiff_t>(apex_.size()));
  if (labels.size() == 1 && (labels[0] == options_.datacenter || labels[0] == "ns")) return Asked{};
  const auto kind = std::find_if(labels.rbegin(), labels.rend(), [type](const std::string& label) {
    return KindOf(label) < kKinds.size() || (type == kTypeSrv && IsUnderscored(label));
  });
  if (kind == labels.rend()) return std::nullopt;
  const bool has_no_kind = kind->front() == '_';
  const std::size_t behind = static_cast<std::size_t>(std::distance(labels.rbegin(), kind));
  if (behind > 1 || (behind == 1 && labels.back() != options_.datacenter)) return std::nullopt;
  Asked asked{.kind = has_no_kind ? "service" : *kind, .labels = {}};
  labels.resize(labels.size() - behind - (has_no_kind ? 0 : 1));
  asked.labels = std::move(labels);
  return asked;
}

ZoneData ConsulZone::Apex() const {
  ZoneData found{.data = {Soa{.serial = static_cast<std::uint32_t>(revision())}}};
  const auto node =
      options_.node.empty() ? std::nullopt : discovery_->Node(LowerCase(options_.node));
  const auto name = node ? NodeName(node->name) : std::nullopt;
  found.data.emplace_back(Ns{name.value_or(Below({"ns"}))});
  if (name && node->address && !std::holds_alternative<Name>(*node->address))
    found.addresses.push_back({.owner = *name, .data = AddressData(*node->address)});
  return found;
}

std::optional<ZoneData> ConsulZone::FindService(const Name& labels) const {
  std::string service = labels.back();
  std::string tag = Joined(labels.begin(), labels.end() - 1);
  if (labels.size() == 2 && IsUnderscored(labels[0]) && IsUnderscored(labels[1])) {
    service = labels[0].substr(1);
    tag = labels[1] == "_tcp" ? "" : labels[1].substr(1);
  }
  const std::vector<DiscoveredInstance> instances = discovery_->Instances(service, tag);
  if (instances.empty()) return std::nullopt;
  ZoneData found;
  std::set<std::tuple<std::string, std::optional<Host>, std::uint16_t>> seen;
  for (const DiscoveredInstance& instance : instances) {
    const std::optional<Host>& address =
        instance.address ? instance.address : instance.node.address;
    if (!address) continue;
    found.data.push_back(AddressData(*address));
    if (seen.emplace(instance.node.name, instance.address, instance.port).second)
      AddSrv(instance, found);
  }
  // A name with addresses has no CNAME.
  const auto is_address = [](const Data& data) {
    return std::holds_alternative<Ipv4>(data) || std::holds_alternative<Ipv6>(data);
  };
  if (std::ranges::any_of(found.data, is_address))
    std::erase_if(found.data, [](const Data& data) { return std::holds_alternative<Cname>(data); });
  return found;
}

std::optional<ZoneData> ConsulZone::FindNode(const Name& labels) const {
  const auto node = discovery_->Node(Joined(labels.begin(), labels.end()));
  if (!node) return std::nullopt;
  ZoneData found;
  if (node->address) found.data.push_back(AddressData(*node->address));
  for (const auto& [key, value] : node->meta) found.data.emplace_back(Txt{MetaText(key, value)});
  return found;
}

// The target is the node, unless the service has its own address, or the node's name cannot
// stand in DNS.
void ConsulZone::AddSrv(const DiscoveredInstance& instance, ZoneData& found) const {
  const Host& host = instance.address ? *instance.address : *instance.node.address;
  std::optional<Name> target;
  if (!instance.address) target = NodeName(instance.node.name);
  if (!target) {
    const auto hex = HexOf(host);
    target = hex ? AddressName(*hex) : std::get<Name>(host);
  }
  if (!std::holds_alternative<Name>(host))
    found.addresses.push_back({.owner = *target, .data = AddressData(host)});
  found.data.emplace_back(Srv{.priority = 1,
                              .weight = instance.weight,
                              .port = instance.port,
                              .target = *std::move(target)});
}

std::optional<Ptr> ConsulZone::FindPtr(const Name& name) const {
  const auto address = ReverseAddressOf(name);
  const auto owner = address ? discovery_->OwnerOf(*address) : std::nullopt;
  if (!owner) return std::nullopt;
  auto target = owner->is_node ? NodeName(owner->name) : NameBelow(owner->name, "service");
  return target ? std::optional(Ptr{*std::move(target)}) : std::nullopt;
}

std::optional<Name> ConsulZone::NodeName(std::string_view node) const {
  return NameBelow(node, "node");
}

std::optional<Name> ConsulZone::NameBelow(std::string_view text, std::string_view kind) const {
  auto labels = SplitName(text);
  if (!labels) return std::nullopt;
  labels->insert(labels->end(), {std::string(kind), options_.datacenter});
  Name name = Below(*std::move(labels));
  return WireBytes(name) <= kMaxNameBytes ? std::optional(std::move(name)) : std::nullopt;
}

Name ConsulZone::AddressName(std::string hex) const {
  return Below({std::move(hex), "addr", options_.datacenter});
}

Name ConsulZone::Below(Name labels) const {
  labels.insert(labels.end(), apex_.begin(), apex_.end());
  return labels;
}

}  // namespace kvorum::dns
