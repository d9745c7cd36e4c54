// Records as Consul's API writes them: every field, which may be null, which are left out when
// empty, and their order. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "consul/model/records.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::consul {

using sync::Json;

inline constexpr std::string_view kSerfHealth = "serfHealth";
inline constexpr std::string_view kNodeMaintenance = "_node_maintenance";
inline constexpr std::string_view kServiceMaintenance = "_service_maintenance:";

Json NodeJson(const NodeRecord& node, std::string_view datacenter);
// A line of catalog/service.
Json ServiceNodeJson(const ServiceRecord& service, const NodeRecord& node,
                     std::string_view datacenter);
Json NodeServiceJson(const ServiceRecord& service);
// A check of a node or of a service.
Json CheckJson(const NodeRecord& node, const CheckRecord& check);
Json CheckJson(const ServiceRecord& service, const CheckRecord& check);
// The check that every node with an agent has. The revision is that of the agent's life.
CheckRecord SerfHealth(bool is_alive);
Json SerfHealthJson(const NodeRecord& node, bool is_alive, std::int64_t life_revision);
// A service as its agent tells it, with a hash that stands for all other members.
Json AgentServiceJson(const ServiceRecord& service, std::string_view datacenter);
Json SessionJson(const SessionRecord& session);

// The sum that clients make of checks: "maintenance" before "critical" before "warning"; "passing"
// without any.
std::string_view AggregatedStatus(std::span<const CheckRecord> checks);
// A node's addresses by their tags, all the same one if it is an IP or a name.
std::map<std::string, std::string> TaggedAddressesOf(std::string_view address);
// A UUID that is the same for a name for ever: of an agent's node.
std::string NodeIdOf(std::string_view name);
// 4 or 6; 0: the text is not an IP address.
int IpVersion(std::string_view address);

}  // namespace kvorum::consul
