#include "consul/http/catalog_routes.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "consul/http/instance_checks.h"
#include "consul/http/selection.h"
#include "consul/model/api_json.h"

namespace kvorum::consul {
namespace {

constexpr std::string_view kServersService = "consul";

// A read that chooses by the query and answers from the copy.
class CatalogRead {
 public:
  CatalogRead(CatalogReadParts parts, Exchange exchange, FilterRows rows)
      : parts_(std::move(parts)), exchange_(std::move(exchange)), rows_(rows) {}

  // `topics` and `json` get the selection.
  template <class Topics, class ToJson>
  void Answer(Topics topics, ToJson json) && {
    auto selection = Selection::Of(exchange_, parts_.node, rows_);
    if (!selection) return;
    Moving moving = MovingOf(parts_.copy, topics(*selection));
    parts_.reading.Read(std::move(exchange_), std::move(moving),
                        [parts = parts_, selection = *std::move(selection), json = std::move(json)](
                            Exchange exchange) { exchange.OkJson(json(parts, selection)); });
  }

 private:
  const CatalogReadParts parts_;
  Exchange exchange_;
  const FilterRows rows_;
};

std::vector<Topic> WithNodes(const Selection& selection, Topic topic) {
  std::vector<Topic> topics{std::move(topic)};
  if (selection.has_node_meta()) topics.push_back({.kind = Topic::Kind::kNodes});
  return topics;
}

Json Nodes(const CatalogReadParts& parts, const Selection& selection) {
  std::vector<NodeView> nodes = parts.copy.Nodes();
  selection.SortNodes(nodes);
  Json list = Json::array();
  for (const NodeView& view : nodes) {
    if (!selection.TakesNode(*view.node)) continue;
    Json node = NodeJson(*view.node, parts.datacenter);
    if (selection.TakesJson(node)) list.push_back(std::move(node));
  }
  return list;
}

Json InstanceJson(const CatalogReadParts& parts, const Instance& instance) {
  return ServiceNodeJson(*instance.service, *instance.node.node, parts.datacenter);
}

// In order, and no name is there twice: without the look at all others that [] costs.
void Append(Json& object, std::string name, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(std::move(name), std::move(value));
}

// The servers are a service too, on a node that is not listed: clients look for it.
bool TakesServers(const CatalogReadParts& parts, const Selection& selection) {
  const std::string name(kServersService);
  return !selection.has_node_meta() &&
         selection.TakesJson(ServiceNodeJson({.node = {}, .id = name, .name = name}, {.node = {}},
                                             parts.datacenter));
}

Json Services(const CatalogReadParts& parts, const Selection& selection) {
  std::map<std::string, std::set<std::string>> tags;
  if (TakesServers(parts, selection)) tags[std::string(kServersService)];
  for (const Instance& instance : parts.copy.AllInstances()) {
    if (!selection.TakesNode(*instance.node.node)) continue;
    if (selection.has_filter() && !selection.TakesJson(InstanceJson(parts, instance))) continue;
    const auto& more = instance.service->details.tags;
    tags[instance.service->name].insert(more.begin(), more.end());
  }
  Json map = Json::object();
  for (const auto& [name, names_tags] : tags) {
    Json list = Json::array();
    for (const std::string& tag : names_tags) list.push_back(tag);
    Append(map, name, std::move(list));
  }
  return map;
}

Json Instances(const CatalogReadParts& parts, const Selection& selection,
               const std::string& service) {
  std::vector<Instance> instances = parts.copy.Instances(service);
  selection.SortInstances(instances);
  Json list = Json::array();
  for (const Instance& instance : instances) {
    if (!selection.TakesInstance(instance)) continue;
    Json item = InstanceJson(parts, instance);
    if (selection.TakesJson(item)) list.push_back(std::move(item));
  }
  return list;
}

// {"Node":...,"Services":{id:...}}, and null for an unknown node.
Json NodeWithServices(const CatalogReadParts& parts, const Selection& selection,
                      const std::string& node) {
  const NodeView view = parts.copy.Node(node);
  if (view.node == nullptr) return nullptr;
  Json services = Json::object();
  for (const ServiceRef& service : parts.copy.ServicesOf(node)) {
    Json item = NodeServiceJson(*service);
    if (selection.TakesJson(item)) Append(services, service->id, std::move(item));
  }
  return {{"Node", NodeJson(*view.node, parts.datacenter)}, {"Services", std::move(services)}};
}

Json NodeWithServiceList(const CatalogReadParts& parts, const Selection& selection,
                         const std::string& node) {
  const NodeView view = parts.copy.Node(node);
  Json services = Json::array();
  if (view.node == nullptr) return {{"Node", nullptr}, {"Services", std::move(services)}};
  for (const ServiceRef& service : parts.copy.ServicesOf(node)) {
    Json item = NodeServiceJson(*service);
    if (selection.TakesJson(item)) services.push_back(std::move(item));
  }
  return {{"Node", NodeJson(*view.node, parts.datacenter)}, {"Services", std::move(services)}};
}

using JsonOfTable = Json (*)(const CatalogReadParts&, const Selection&);
using JsonOfName = Json (*)(const CatalogReadParts&, const Selection&, const std::string& name);

Route TableRoute(const CatalogReadParts& parts, std::string path, Topic::Kind kind, FilterRows rows,
                 JsonOfTable json) {
  auto handle = [parts, kind, rows, json](Exchange exchange) {
    CatalogRead(parts, std::move(exchange), rows)
        .Answer([&](const Selection& selection) { return WithNodes(selection, {.kind = kind}); },
                json);
  };
  return {.path = std::move(path), .methods = "GET", .handle = std::move(handle)};
}

Route NameRoute(const CatalogReadParts& parts, std::string path, Topic::Kind kind, FilterRows rows,
                JsonOfName json) {
  auto handle = [parts, kind, rows, json](Exchange exchange) {
    const std::string name = exchange.rest();
    if (name.empty()) {
      const bool is_node = kind == Topic::Kind::kNode;
      return exchange.Text(400, is_node ? "Missing node name" : "Missing service name");
    }
    CatalogRead(parts, std::move(exchange), rows)
        .Answer([&](const Selection&) { return std::vector<Topic>{{.kind = kind, .name = name}}; },
                [json, name](const CatalogReadParts& its, const Selection& selection) {
                  return json(its, selection, name);
                });
  };
  return {.path = std::move(path), .methods = "GET", .handle = std::move(handle)};
}

Json ServiceHealth(const CatalogReadParts& parts, const Selection& selection,
                   const std::string& service) {
  std::vector<Instance> instances = parts.copy.Instances(service);
  selection.SortInstances(instances);
  Json list = Json::array();
  for (const Instance& instance : instances) {
    if (!selection.TakesInstance(instance)) continue;
    if (selection.only_passing() && !IsPassing(instance)) continue;
    Json checks = Json::array();
    AppendNodeChecks(instance.node, checks);
    AppendServiceChecks(*instance.service, checks);
    Json item{{"Node", NodeJson(*instance.node.node, parts.datacenter)},
              {"Service", NodeServiceJson(*instance.service)},
              {"Checks", std::move(checks)}};
    if (selection.TakesJson(item)) list.push_back(std::move(item));
  }
  return list;
}

Json Chosen(const Selection& selection, const Json& checks) {
  Json chosen = Json::array();
  for (const Json& check : checks) {
    if (selection.TakesJson(check)) chosen.push_back(check);
  }
  return chosen;
}

Json NodeHealth(const CatalogReadParts& parts, const Selection& selection,
                const std::string& node) {
  const NodeView view = parts.copy.Node(node);
  Json checks = Json::array();
  if (view.node == nullptr) return checks;
  AppendNodeChecks(view, checks);
  for (const ServiceRef& service : parts.copy.ServicesOf(node))
    AppendServiceChecks(*service, checks);
  return Chosen(selection, checks);
}

Json ServiceChecks(const CatalogReadParts& parts, const Selection& selection,
                   const std::string& service) {
  std::vector<Instance> instances = parts.copy.Instances(service);
  selection.SortInstances(instances);
  Json checks = Json::array();
  for (const Instance& instance : instances) {
    if (selection.TakesNode(*instance.node.node)) AppendServiceChecks(*instance.service, checks);
  }
  return Chosen(selection, checks);
}

Json ChecksInState(const CatalogReadParts& parts, const Selection& selection,
                   const std::string& state) {
  std::vector<NodeView> nodes = parts.copy.Nodes();
  selection.SortNodes(nodes);
  Json list = Json::array();
  for (const NodeView& view : nodes) {
    if (!selection.TakesNode(*view.node)) continue;
    Json checks = Json::array();
    AppendNodeChecks(view, checks);
    for (const ServiceRef& service : parts.copy.ServicesOf(view.node->node))
      AppendServiceChecks(*service, checks);
    for (Json& check : checks) {
      const bool is_in_state = state == "any" || check["Status"] == state;
      if (is_in_state && selection.TakesJson(check)) list.push_back(std::move(check));
    }
  }
  return list;
}

Route StateRoute(const CatalogReadParts& parts) {
  auto handle = [parts](Exchange exchange) {
    const std::string state = exchange.rest();
    if (state.empty()) return exchange.Text(400, "Missing check state");
    CatalogRead(parts, std::move(exchange), FilterRows::kChecks)
        .Answer(
            [](const Selection& selection) {
              return WithNodes(selection, {.kind = Topic::Kind::kChecks});
            },
            [state](const CatalogReadParts& its, const Selection& selection) {
              return ChecksInState(its, selection, state);
            });
  };
  return {.path = "/v1/health/state/", .methods = "GET", .handle = std::move(handle)};
}

}  // namespace

std::vector<Route> CatalogReadRoutes(const CatalogReadParts& parts) {
  auto datacenters = [name = parts.datacenter](Exchange exchange) {
    exchange.OkJson(Json::array({name}));
  };
  return {{.path = "/v1/catalog/datacenters", .methods = "GET", .handle = datacenters},
          TableRoute(parts, "/v1/catalog/nodes", Topic::Kind::kNodes, FilterRows::kNodes, Nodes),
          TableRoute(parts, "/v1/catalog/services", Topic::Kind::kServices,
                     FilterRows::kServiceNodes, Services),
          NameRoute(parts, "/v1/catalog/service/", Topic::Kind::kService, FilterRows::kServiceNodes,
                    Instances),
          NameRoute(parts, "/v1/catalog/node/", Topic::Kind::kNode, FilterRows::kNodeServices,
                    NodeWithServices),
          NameRoute(parts, "/v1/catalog/node-services/", Topic::Kind::kNode,
                    FilterRows::kNodeServices, NodeWithServiceList)};
}

std::vector<Route> HealthRoutes(const CatalogReadParts& parts) {
  return {NameRoute(parts, "/v1/health/service/", Topic::Kind::kService, FilterRows::kInstances,
                    ServiceHealth),
          NameRoute(parts, "/v1/health/node/", Topic::Kind::kNode, FilterRows::kChecks, NodeHealth),
          NameRoute(parts, "/v1/health/checks/", Topic::Kind::kService, FilterRows::kChecks,
                    ServiceChecks),
          StateRoute(parts)};
}

}  // namespace kvorum::consul
