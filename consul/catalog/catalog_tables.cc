#include "consul/catalog/catalog_tables.h"

#include <algorithm>
#include <utility>

namespace kvorum::consul {
namespace {

// An agent's node has serfHealth, an external one only what was registered.
bool HasChecks(const NodeRef& node) {
  return node != nullptr && (!node->is_external || !node->checks.empty());
}
bool HasChecks(const ServiceRef& service) { return service != nullptr && !service->checks.empty(); }

// The list of services shows names and tags alone.
bool IsSameInList(const ServiceRef& a, const ServiceRef& b) {
  return a != nullptr && b != nullptr && a->name == b->name && a->details.tags == b->details.tags;
}

}  // namespace

CatalogTables::NodeEntry& CatalogTables::EntryOf(std::string_view node) {
  const auto found = nodes_.find(node);
  return found != nodes_.end() ? found->second : nodes_[std::string(node)];
}

void CatalogTables::MoveTable(Topic::Kind kind, std::int64_t revision, Touched& touched) {
  switch (kind) {
    case Topic::Kind::kNodes:
      nodes_index_ = revision;
      break;
    case Topic::Kind::kServices:
      services_index_ = revision;
      break;
    case Topic::Kind::kChecks:
      checks_index_ = revision;
      break;
    case Topic::Kind::kSessions:
      sessions_index_ = revision;
      break;
    case Topic::Kind::kService:
    case Topic::Kind::kNode:
      return;  // no table
  }
  touched.topics.insert({.kind = kind});
}

void CatalogTables::MoveService(const std::string& name, std::int64_t revision, Touched& touched) {
  touched.topics.insert({.kind = Topic::Kind::kService, .name = name});
  const auto found = names_.find(name);
  if (found == names_.end()) return;
  found->second.index = revision;
  if (!found->second.instances.empty()) return;
  names_.erase(found);
  last_service_gone_ = revision;
}

void CatalogTables::MoveNode(std::string_view node, NodeEntry& entry, std::int64_t revision,
                             Touched& touched) {
  entry.index = revision;
  touched.nodes.emplace(node);
  touched.topics.insert({.kind = Topic::Kind::kNode, .name = std::string(node)});
  for (const auto& [id, service] : entry.services) MoveService(service->name, revision, touched);
}

void CatalogTables::DropIfEmpty(std::string_view node, std::int64_t revision) {
  const auto found = nodes_.find(node);
  const NodeEntry& entry = found->second;
  if (entry.view.node != nullptr || entry.view.is_alive || !entry.services.empty()) return;
  nodes_.erase(found);
  last_node_gone_ = revision;
}

void CatalogTables::PutNode(std::string_view node, NodeRef record, std::int64_t revision,
                            Touched& touched) {
  if (record == nullptr && !nodes_.contains(node)) return;
  NodeEntry& entry = EntryOf(node);
  const NodeRef before = std::exchange(entry.view.node, std::move(record));
  MoveNode(node, entry, revision, touched);
  MoveTable(Topic::Kind::kNodes, revision, touched);
  if (HasChecks(before) || HasChecks(entry.view.node))
    MoveTable(Topic::Kind::kChecks, revision, touched);
  // Services are shown while their node is registered.
  const bool shows_services = (before == nullptr) != (entry.view.node == nullptr);
  if (shows_services && !entry.services.empty())
    MoveTable(Topic::Kind::kServices, revision, touched);
  DropIfEmpty(node, revision);
}

void CatalogTables::PutLife(std::string_view node, bool is_alive, std::int64_t revision,
                            Touched& touched) {
  if (!is_alive && !nodes_.contains(node)) return;
  NodeEntry& entry = EntryOf(node);
  // Taking the life over anew changes nothing that is shown.
  if (entry.view.is_alive != is_alive) {
    entry.view.is_alive = is_alive;
    entry.view.life_revision = revision;
    MoveNode(node, entry, revision, touched);
    MoveTable(Topic::Kind::kChecks, revision, touched);
  }
  DropIfEmpty(node, revision);
}

void CatalogTables::PutService(std::string_view node, std::string_view id, ServiceRef record,
                               std::int64_t revision, Touched& touched) {
  if (record == nullptr && !nodes_.contains(node)) return;
  NodeEntry& entry = EntryOf(node);
  const auto place = std::pair(std::string(node), std::string(id));
  ServiceRef before;
  if (const auto found = entry.services.find(id); found != entry.services.end()) {
    before = found->second;
    entry.services.erase(found);
    names_[before->name].instances.erase(place);
  }
  if (record != nullptr) {
    entry.services.emplace(id, record);
    names_[record->name].instances.insert(place);
  }
  if (before != nullptr || record != nullptr) {
    entry.index = revision;
    touched.nodes.emplace(node);
    touched.topics.insert({.kind = Topic::Kind::kNode, .name = std::string(node)});
    if (before != nullptr) MoveService(before->name, revision, touched);
    if (record != nullptr) MoveService(record->name, revision, touched);
    if (!IsSameInList(before, record)) MoveTable(Topic::Kind::kServices, revision, touched);
    if (HasChecks(before) || HasChecks(record)) MoveTable(Topic::Kind::kChecks, revision, touched);
  }
  DropIfEmpty(node, revision);
}

void CatalogTables::PutSession(std::string_view id, SessionRef record, std::int64_t revision,
                               Touched& touched) {
  const auto found = sessions_.find(id);
  if (record != nullptr) {
    sessions_.insert_or_assign(std::string(id), std::move(record));
  } else if (found != sessions_.end()) {
    touched.ended_sessions.push_back(found->second);
    sessions_.erase(found);
  } else {
    return;
  }
  MoveTable(Topic::Kind::kSessions, revision, touched);
}

void CatalogTables::RaiseAll(std::int64_t revision) { floor_ = std::max(floor_, revision); }

std::uint64_t CatalogTables::IndexOf(const Topic& topic) const {
  const auto of = [&]() -> std::int64_t {
    switch (topic.kind) {
      case Topic::Kind::kNodes:
        return nodes_index_;
      case Topic::Kind::kServices:
        return services_index_;
      case Topic::Kind::kChecks:
        return checks_index_;
      case Topic::Kind::kSessions:
        return sessions_index_;
      case Topic::Kind::kService: {
        const auto found = names_.find(topic.name);
        return found == names_.end() ? last_service_gone_ : found->second.index;
      }
      case Topic::Kind::kNode: {
        const auto found = nodes_.find(topic.name);
        return found == nodes_.end() ? last_node_gone_ : found->second.index;
      }
    }
    return 0;
  };
  return static_cast<std::uint64_t>(std::max(of(), floor_));
}

std::vector<NodeView> CatalogTables::Nodes() const {
  std::vector<NodeView> nodes;
  for (const auto& [name, entry] : nodes_) {
    if (entry.view.node != nullptr) nodes.push_back(entry.view);
  }
  return nodes;
}

NodeView CatalogTables::Node(std::string_view node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? NodeView{} : found->second.view;
}

std::vector<ServiceRef> CatalogTables::ServicesOf(std::string_view node) const {
  std::vector<ServiceRef> services;
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return services;
  for (const auto& [id, service] : found->second.services) services.push_back(service);
  return services;
}

ServiceRef CatalogTables::Service(std::string_view node, std::string_view id) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return nullptr;
  const auto service = found->second.services.find(id);
  return service == found->second.services.end() ? nullptr : service->second;
}

std::vector<Instance> CatalogTables::Instances(std::string_view service) const {
  std::vector<Instance> instances;
  const auto found = names_.find(service);
  if (found == names_.end()) return instances;
  for (const auto& [node, id] : found->second.instances) {
    const NodeEntry& entry = nodes_.find(node)->second;
    // A service whose node is not registered (yet) has no address, and is not shown.
    if (entry.view.node == nullptr) continue;
    instances.push_back({.service = entry.services.find(id)->second, .node = entry.view});
  }
  return instances;
}

std::vector<Instance> CatalogTables::AllInstances() const {
  std::vector<Instance> instances;
  for (const auto& [node, entry] : nodes_) {
    if (entry.view.node == nullptr) continue;
    for (const auto& [id, service] : entry.services)
      instances.push_back({.service = service, .node = entry.view});
  }
  return instances;
}

std::vector<SessionRef> CatalogTables::Sessions() const {
  std::vector<SessionRef> sessions;
  for (const auto& [id, session] : sessions_) sessions.push_back(session);
  return sessions;
}

SessionRef CatalogTables::Session(std::string_view id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

}  // namespace kvorum::consul
