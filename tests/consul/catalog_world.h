// A registry in a store in memory, and the copy of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "consul/catalog/catalog_copy.h"
#include "tests/sync/fake_store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::consul {

struct CatalogWorld {
  // The copy has listed what was written before.
  void Start() {
    copy.Start();
    executor.Settle();
  }
  std::int64_t Commit(const std::vector<sync::FakeStore::Write>& writes) {
    const std::int64_t revision = store.Commit(writes);
    executor.Settle();
    return revision;
  }

  sync::FakeStore::Write NodeWrite(NodeRecord record) const {
    return {keys.Node(record.node), EncodeNode(record)};
  }
  sync::FakeStore::Write ServiceWrite(const ServiceRecord& record) const {
    return {keys.Service(record.node, record.id), EncodeService(record)};
  }
  std::int64_t PutNode(const NodeRecord& record) { return Commit({NodeWrite(record)}); }
  std::int64_t PutService(const ServiceRecord& record) { return Commit({ServiceWrite(record)}); }
  std::int64_t PutLife(const std::string& node) { return Commit({{keys.Life(node), ""}}); }
  std::int64_t PutSession(const SessionRecord& record) {
    return Commit({{keys.Session(record.id), EncodeSession(record)}});
  }
  std::int64_t Delete(const std::string& key) { return Commit({{key, std::nullopt}}); }

  // A node with an agent that lives, and a service on it.
  void AddAgent(const std::string& node, const std::string& service, CheckRecord check = {}) {
    if (check.id.empty()) check = {.id = "service:" + service, .health = Health::kPassing};
    Commit({NodeWrite({.node = node, .details = {.address = "10.0.0.1"}}),
            {keys.Life(node), ""},
            ServiceWrite({.node = node, .id = service, .name = service, .checks = {check}})});
  }
  // The watch's place is compacted away, so that the copy lists again.
  void Relist() {
    store.Disconnect();
    store.EndWatches({Code::kUnavailable, "lost"});
    store.Put("/other", "");
    store.Compact(store.revision());
    store.Connect();
    executor.Advance(std::chrono::minutes(1));
  }

  sync::FakeStore store;
  sync::ManualExecutor executor;
  RegistryKeys keys{"/kvorum"};
  std::vector<std::string> reports;
  CatalogCopy copy{
      store, executor, {.on_report = [this](const std::string& text) { reports.push_back(text); }}};
};

}  // namespace kvorum::consul
