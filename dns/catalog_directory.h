// The directory that an informer keeps: all services of a catalog (sync/agent/catalog.h), found by
// their names in lower case.
//
// Thread-safe. Store and executor outlive it. While the store cannot be reached it answers as it
// last was. Memory: an object for each instance, with its key and where it is, without its outputs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/task.h"
#include "dns/directory.h"
#include "sync/kernel/metrics.h"
#include "sync/store/store.h"

namespace kvorum::dns {

struct CatalogDirectoryOptions {
  std::string root = "/kvorum";
  sync::Metrics* metrics = nullptr;  // outlives the directory
  // Something failed and is tried again, or a record is malformed. Any thread.
  std::function<void(const std::string& text)> on_report = {};
};

class CatalogDirectory final : public Directory {
 public:
  CatalogDirectory(sync::Store& store, Executor& executor, CatalogDirectoryOptions options);
  ~CatalogDirectory() override;
  CatalogDirectory(const CatalogDirectory&) = delete;
  CatalogDirectory& operator=(const CatalogDirectory&) = delete;

  std::int64_t revision() const override;
  std::vector<Instance> Find(const std::string& name) const override;

 private:
  class Copy;
  std::unique_ptr<Copy> copy_;
};

}  // namespace kvorum::dns
