// The copy of ROOT/registry/ that all reads of the catalog, of health and of sessions are answered
// from, with an index for each kind of question and those who wait for it to move
// (X-Consul-Index).
//
// Thread-safe; a read takes a lock for as long as it copies references. Waiters' callbacks run on
// the executor and must not block. Store and executor outlive the copy. Memory: a record for each
// key, an index for each node and service; a waiter costs its entry.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "consul/model/records.h"
#include "sync/store/store.h"

namespace kvorum::consul {

using NodeRef = std::shared_ptr<const NodeRecord>;
using ServiceRef = std::shared_ptr<const ServiceRecord>;
using SessionRef = std::shared_ptr<const SessionRecord>;

// What a question is about; its index is the largest revision that touched that, deletions included.
struct Topic {
  enum class Kind : std::uint8_t {
    kNodes,      // the table of nodes
    kServices,   // the table of services
    kChecks,     // all checks, serfHealth included: health/state
    kService,    // a service's instances, their checks, their nodes and these nodes' checks
    kNode,       // a node, its checks and services
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

class CatalogCopy {
 public:
  struct Options {
    std::string root = "/kvorum";
    // Something failed and is tried again, or a record is malformed. Any thread.
    std::function<void(const std::string& text)> on_report = {};
  };
  CatalogCopy(sync::Store& store, Executor& executor, Options options);
  ~CatalogCopy();
  CatalogCopy(const CatalogCopy&) = delete;
  CatalogCopy& operator=(const CatalogCopy&) = delete;
  void Start();
  void Stop();

  bool is_listed() const;
  std::int64_t revision() const;
  // When the copy last heard from the store, by the executor's clock.
  TimePoint last_news() const;
  // Answers on the executor once the copy has everything up to the revision; an error at the
  // deadline (kDeadlineExceeded).
  void WaitForRevision(std::int64_t revision, TimePoint deadline,
                       std::move_only_function<void(Result<void>)> on_reached);

  std::vector<NodeView> Nodes() const;  // in order of their names
  NodeView Node(std::string_view node) const;
  std::vector<ServiceRef> ServicesOf(std::string_view node) const;
  ServiceRef Service(std::string_view node, std::string_view id) const;
  std::vector<Instance> Instances(std::string_view service) const;
  // Names and the union of their tags.
  std::vector<std::pair<std::string, std::vector<std::string>>> ServiceNames() const;
  std::vector<SessionRef> Sessions() const;
  SessionRef Session(std::string_view id) const;

  // At least 1.
  std::uint64_t IndexOf(const Topic& topic) const;
  // Calls back once, when the topic's index is greater than `after`, at a relist, or at Stop; at
  // once if it is already. The handle drops the wait when it is destroyed; its callback may be
  // running then.
  class Wait;
  std::unique_ptr<Wait> WaitFor(Topic topic, std::uint64_t after,
                                std::move_only_function<void()> on_moved);

  // Called on the executor after each revision or relist was taken in, with what it touched; for
  // the janitor. To be set before Start.
  struct Change {
    bool is_relist = false;
    std::vector<std::string> nodes = {};             // whose record, life or services changed
    std::vector<SessionRef> ended_sessions = {};     // whose keys are gone
  };
  void SetObserver(std::function<void(const Change& change)> observer);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace kvorum::consul
