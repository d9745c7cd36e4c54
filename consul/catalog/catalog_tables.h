// The registry's records in memory, with an index for each question: a pure state machine that
// writes go into, one revision after the other, and that says which topics a write moved.
//
// Used by one thread at a time. Memory: a record for each key, an index for each node and service
// that is there. What has gone leaves no entry: its index is that of the last of its kind that
// went.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consul/model/records.h"

namespace kvorum::consul {

using NodeRef = std::shared_ptr<const NodeRecord>;
using ServiceRef = std::shared_ptr<const ServiceRecord>;
using SessionRef = std::shared_ptr<const SessionRecord>;

// A question is about a topic, whose index is the largest revision that touched it, deletions
// included.
struct Topic {
  enum class Kind : std::uint8_t {
    kNodes,     // the table of nodes
    kServices,  // the names of services and their tags
    kChecks,    // all checks, serfHealth included: health/state
    kService,   // a service's instances, their checks, their nodes and these nodes' checks
    kNode,      // a node, its checks and services
    kSessions,
  };
  Kind kind = Kind::kNodes;
  std::string name = {};  // of kService and kNode
  friend auto operator<=>(const Topic&, const Topic&) = default;
};

// A node as answers show it.
struct NodeView {
  NodeRef node;           // null: no such node
  bool is_alive = false;  // an agent's life key is there; an external node has no serfHealth
  std::int64_t life_revision = 0;  // of the life key's last change
};

struct Instance {
  ServiceRef service;
  NodeView node;
};

// The effect of one revision.
struct Touched {
  std::set<Topic> topics = {};
  std::set<std::string, std::less<>> nodes = {};  // whose record, life or services changed
  std::vector<SessionRef> ended_sessions = {};
};

class CatalogTables {
 public:
  // Null: the key is deleted. The revision is not lower than any before.
  void PutNode(std::string_view node, NodeRef record, std::int64_t revision, Touched& touched);
  void PutLife(std::string_view node, bool is_alive, std::int64_t revision, Touched& touched);
  void PutService(std::string_view node, std::string_view id, ServiceRef record,
                  std::int64_t revision, Touched& touched);
  void PutSession(std::string_view id, SessionRef record, std::int64_t revision, Touched& touched);
  // The changes before the revision are unknown: no index is lower from here on.
  void RaiseAll(std::int64_t revision);

  // At least 1.
  std::uint64_t IndexOf(const Topic& topic) const;

  std::vector<NodeView> Nodes() const;  // in order of their names
  NodeView Node(std::string_view node) const;
  std::vector<ServiceRef> ServicesOf(std::string_view node) const;
  ServiceRef Service(std::string_view node, std::string_view id) const;
  std::vector<Instance> Instances(std::string_view service) const;  // in order of node and id
  // In order of node and id.
  std::vector<Instance> AllInstances() const;
  std::vector<SessionRef> Sessions() const;
  SessionRef Session(std::string_view id) const;

 private:
  struct NodeEntry {
    NodeView view;
    std::map<std::string, ServiceRef, std::less<>> services = {};
    std::int64_t index = 0;
  };
  struct NameEntry {
    std::set<std::pair<std::string, std::string>> instances = {};  // node and id
    std::int64_t index = 0;
  };

  NodeEntry& EntryOf(std::string_view node);
  // The node itself has changed: it and its services move.
  void MoveNode(std::string_view node, NodeEntry& entry, std::int64_t revision, Touched& touched);
  void MoveService(const std::string& name, std::int64_t revision, Touched& touched);
  void MoveTable(Topic::Kind kind, std::int64_t revision, Touched& touched);
  void DropIfEmpty(std::string_view node, std::int64_t revision);

  std::map<std::string, NodeEntry, std::less<>> nodes_;
  std::map<std::string, NameEntry, std::less<>> names_;
  std::map<std::string, SessionRef, std::less<>> sessions_;
  std::int64_t nodes_index_ = 0;
  std::int64_t services_index_ = 0;
  std::int64_t checks_index_ = 0;
  std::int64_t sessions_index_ = 0;
  std::int64_t last_service_gone_ = 0;
  std::int64_t last_node_gone_ = 0;
  std::int64_t floor_ = 1;
};

}  // namespace kvorum::consul
