#include "consul/model/api_json.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sync/kernel/content_hash.h"

namespace kvorum::consul {
namespace {

// The API writes null for an empty map.
Json MapOrNull(const std::map<std::string, std::string>& map) {
  return map.empty() ? Json() : Json(map);
}

Json TaggedJson(const std::map<std::string, TaggedAddress>& addresses) {
  Json json = Json::object();
  for (const auto& [name, tagged] : addresses)
    json[name] = {{"Address", tagged.address}, {"Port", tagged.port}};
  return json;
}

Json WeightsJson(const ServiceDetails& details) {
  return {{"Passing", details.weight_passing}, {"Warning", details.weight_warning}};
}

Json ProxyJson() {
  return {{"Mode", ""}, {"MeshGateway", Json::object()}, {"Expose", Json::object()}};
}

void AddIndexes(Json& json, std::int64_t create_revision, std::int64_t mod_revision) {
  json["CreateIndex"] = create_revision;
  json["ModifyIndex"] = mod_revision;
}

Json CheckJson(std::string_view node, const ServiceRecord* service, const CheckRecord& check) {
  Json definition = Json::parse(check.definition, nullptr, /*allow_exceptions=*/false);
  if (!definition.is_object()) definition = Json::object();
  return {{"Node", node},
          {"CheckID", check.id},
          {"Name", check.name},
          {"Status", sync::HealthName(check.health)},
          {"Notes", check.notes},
          {"Output", check.output},
          {"ServiceID", service == nullptr ? "" : service->id},
          {"ServiceName", service == nullptr ? "" : service->name},
          {"ServiceTags", service == nullptr ? Json::array() : Json(service->details.tags)},
          {"Type", check.type},
          {"Interval", check.interval},
          {"Timeout", check.timeout},
          {"ExposedPort", 0},
          {"Definition", std::move(definition)}};
}

}  // namespace

Json NodeJson(const NodeRecord& node, std::string_view datacenter) {
  Json json = {{"ID", node.details.id},
               {"Node", node.node},
               {"Address", node.details.address},
               {"Datacenter", datacenter},
               {"TaggedAddresses", MapOrNull(node.details.tagged_addresses)},
               {"Meta", MapOrNull(node.details.meta)}};
  AddIndexes(json, node.create_revision, node.mod_revision);
  return json;
}

Json ServiceNodeJson(const ServiceRecord& service, const NodeRecord& node,
                     std::string_view datacenter) {
  const ServiceDetails& details = service.details;
  Json json = {{"ID", node.details.id},
               {"Node", service.node},
               {"Address", node.details.address},
               {"Datacenter", datacenter},
               {"TaggedAddresses", MapOrNull(node.details.tagged_addresses)},
               {"NodeMeta", MapOrNull(node.details.meta)},
               {"ServiceKind", details.kind},
               {"ServiceID", service.id},
               {"ServiceName", service.name},
               {"ServiceTags", details.tags},
               {"ServiceAddress", details.address}};
  if (!details.tagged_addresses.empty())
    json["ServiceTaggedAddresses"] = TaggedJson(details.tagged_addresses);
  json["ServiceWeights"] = WeightsJson(details);
  json["ServiceMeta"] = MapOrNull(details.meta);
  json["ServicePort"] = details.port;
  json["ServiceSocketPath"] = details.socket_path;
  json["ServiceEnableTagOverride"] = details.enable_tag_override;
  json["ServiceProxy"] = ProxyJson();
  json["ServiceConnect"] = Json::object();
  AddIndexes(json, service.create_revision, service.mod_revision);
  return json;
}

Json NodeServiceJson(const ServiceRecord& service) {
  const ServiceDetails& details = service.details;
  Json json = Json::object();
  if (!details.kind.empty()) json["Kind"] = details.kind;
  json["ID"] = service.id;
  json["Service"] = service.name;
  json["Tags"] = details.tags;
  json["Address"] = details.address;
  if (!details.tagged_addresses.empty())
    json["TaggedAddresses"] = TaggedJson(details.tagged_addresses);
  json["Meta"] = MapOrNull(details.meta);
  if (details.port != 0) json["Port"] = details.port;
  if (!details.socket_path.empty()) json["SocketPath"] = details.socket_path;
  json["Weights"] = WeightsJson(details);
  json["EnableTagOverride"] = details.enable_tag_override;
  json["Proxy"] = ProxyJson();
  json["Connect"] = Json::object();
  json["PeerName"] = "";
  AddIndexes(json, service.create_revision, service.mod_revision);
  return json;
}

Json CheckJson(const NodeRecord& node, const CheckRecord& check) {
  Json json = CheckJson(node.node, nullptr, check);
  AddIndexes(json, node.create_revision, node.mod_revision);
  return json;
}

Json CheckJson(const ServiceRecord& service, const CheckRecord& check) {
  Json json = CheckJson(service.node, &service, check);
  AddIndexes(json, service.create_revision, service.mod_revision);
  return json;
}

CheckRecord SerfHealth(bool is_alive) {
  return {.id = std::string(kSerfHealth),
          .health = is_alive ? Health::kPassing : Health::kCritical,
          .output = is_alive ? "Agent alive and reachable" : "Agent not live or unreachable",
          .name = "Serf Health Status"};
}

Json SerfHealthJson(const NodeRecord& node, bool is_alive, std::int64_t life_revision) {
  Json json = CheckJson(node.node, nullptr, SerfHealth(is_alive));
  AddIndexes(json, node.create_revision, std::max(life_revision, node.create_revision));
  return json;
}

Json AgentServiceJson(const ServiceRecord& service, std::string_view datacenter) {
  const ServiceDetails& details = service.details;
  Json json = Json::object();
  if (!details.kind.empty()) json["Kind"] = details.kind;
  json["ID"] = service.id;
  json["Service"] = service.name;
  json["Tags"] = details.tags;
  json["Meta"] = details.meta.empty() ? Json::object() : Json(details.meta);
  json["Port"] = details.port;
  json["Address"] = details.address;
  if (!details.socket_path.empty()) json["SocketPath"] = details.socket_path;
  if (!details.tagged_addresses.empty())
    json["TaggedAddresses"] = TaggedJson(details.tagged_addresses);
  json["Weights"] = WeightsJson(details);
  json["EnableTagOverride"] = details.enable_tag_override;
  json["CreateIndex"] = 0;
  json["ModifyIndex"] = 0;
  json["Datacenter"] = datacenter;
  constexpr std::size_t kHashDigits = 16;
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  json["ContentHash"] = sync::HashOf(text).Hex().substr(0, kHashDigits);
  return json;
}

Json SessionJson(const SessionRecord& session) {
  Json service_checks;
  for (const std::string& id : session.service_checks)
    service_checks.push_back({{"ID", id}, {"Namespace", ""}});
  Json json = {{"ID", session.id},
               {"Name", session.name},
               {"Node", session.node},
               {"LockDelay", session.lock_delay_ns},
               {"Behavior", session.behavior},
               {"TTL", session.ttl},
               {"NodeChecks", session.node_checks},
               {"ServiceChecks", std::move(service_checks)}};
  AddIndexes(json, session.create_revision, session.mod_revision);
  return json;
}

std::string_view AggregatedStatus(std::span<const CheckRecord> checks) {
  Health worst = Health::kPassing;
  for (const CheckRecord& check : checks) {
    if (check.id == kNodeMaintenance || check.id.starts_with(kServiceMaintenance))
      return "maintenance";
    worst = std::max(worst, check.health);
  }
  return sync::HealthName(worst);
}

std::map<std::string, std::string> TaggedAddressesOf(std::string_view address) {
  std::map<std::string, std::string> tagged;
  if (address.empty()) return tagged;
  const int version = IpVersion(address);
  for (const std::string net : {"lan", "wan"}) {
    tagged[net] = address;
    if (version != 0) tagged[net + "_ipv" + std::to_string(version)] = address;
  }
  return tagged;
}

std::string NodeIdOf(std::string_view name) {
  std::string hex = sync::HashOf("kvorum node " + std::string(name)).Hex();
  hex[12] = '5';  // made of a name (RFC 9562)
  hex[16] = "89ab"[hex[16] % 4];
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

int IpVersion(std::string_view address) {
  if (address.contains('\0')) return 0;  // inet_pton stops there
  const std::string text(address);
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return 4;
  in6_addr six{};
  return inet_pton(AF_INET6, text.c_str(), &six) == 1 ? 6 : 0;
}

}  // namespace kvorum::consul
