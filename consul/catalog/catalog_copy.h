// The copy of ROOT/registry/ that all reads of the catalog, of health and of sessions are answered
// from, with an index for each kind of question and those who wait for it to move
// (X-Consul-Index).
//
// Thread-safe; a read takes a lock for as long as it copies references. Waiters' callbacks run on
// the executor and must not block. Store and executor outlive the copy. Memory: that of the tables
// (catalog_tables.h), twice while a list comes; a waiter costs its entry, no thread and no watch.
//
// After a list that replaces what was there (a compaction took the source's place away, or the
// store went back) the past is unknown: every index is the list's revision, and all who wait are
// called.
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
#include "consul/catalog/catalog_tables.h"
#include "sync/store/store.h"

namespace kvorum::consul {

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
  // deadline (kDeadlineExceeded), and at Stop (kCanceled). A server that cannot be asked for its
  // progress (has_ordered_progress) is taken at its word: the copy as it is.
  void WaitForRevision(std::int64_t revision, TimePoint deadline,
                       std::move_only_function<void(Result<void>)> on_reached);

  // The store was restored to an earlier state: it answered with a revision below that of the copy.
  // Everything is listed anew.
  void StoreWentBack();

  std::vector<NodeView> Nodes() const;  // in order of their names
  NodeView Node(std::string_view node) const;
  std::vector<ServiceRef> ServicesOf(std::string_view node) const;
  ServiceRef Service(std::string_view node, std::string_view id) const;
  std::vector<Instance> Instances(std::string_view service) const;
  std::vector<Instance> AllInstances() const;
  std::vector<SessionRef> Sessions() const;
  SessionRef Session(std::string_view id) const;

  // At least 1.
  std::uint64_t IndexOf(const Topic& topic) const;
  // Calls back once, when the topic's index is greater than `after`, at a relist, or at Stop; at
  // once (on the executor) if it is already. A name that is unknown before and after does not wake
  // who waits for it, though the index of what is unknown moves. The handle drops the wait when it
  // is destroyed; its callback may be running then.
  class Wait;
  struct DropWait {
    void operator()(Wait* wait) const;
  };
  using WaitHandle = std::unique_ptr<Wait, DropWait>;  // null: it has moved already
  WaitHandle WaitFor(Topic topic, std::uint64_t after, std::move_only_function<void()> on_moved);

  // Called on the executor after each revision or relist was taken in, with what it touched; for
  // the janitor. To be set before Start.
  struct Change {
    bool is_relist = false;
    std::vector<std::string> nodes = {};          // whose record, life or services changed
    std::vector<SessionRef> ended_sessions = {};  // whose keys are gone
  };
  void SetObserver(std::function<void(const Change& change)> observer);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace kvorum::consul
