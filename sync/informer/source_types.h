// The types of a control plane as prefixes of the store: a Source follows each, and what it says is
// kept in memory, so that a changed type is read without a call. A resource's name is its key
// behind the prefix.
//
// Thread-safe. The sources run on the executor; store and executor outlive this. Memory: the keys
// and values of all prefixes, once; a read copies the names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/executor.h"
#include "sync/informer/snapshot.h"
#include "sync/kernel/metrics.h"
#include "sync/store/store.h"

namespace kvorum::sync {

struct SourceTypesOptions {
  std::map<std::string, std::string> prefixes = {};  // by type
  // A type may have changed: ControlPlane::Changed. Called on the executor.
  std::function<void(const std::string& type)> on_changed = nullptr;
  // Something failed, and is tried again. Called on the executor.
  std::function<void(const Error& error)> on_error = nullptr;
  Metrics* metrics = nullptr;  // outlives this
  std::uint64_t seed = 0;      // of the jitter; 0: from the operating system
};

class SourceTypes final : public TypeReader {
 public:
  SourceTypes(Store& store, Executor& executor, SourceTypesOptions options);
  // Nothing is called any more.
  ~SourceTypes() override;
  SourceTypes(const SourceTypes&) = delete;
  SourceTypes& operator=(const SourceTypes&) = delete;

  // Begins to follow the prefixes. The receivers of callbacks must exist by then.
  void Start();
  // A type that has not been listed yet is kCanceled, or kUnavailable with what went wrong;
  // on_changed comes once it has been.
  void Read(const std::string& type, Done done) override;

 private:
  class Prefix;
  const SourceTypesOptions options_;
  std::map<std::string, std::unique_ptr<Prefix>> types_;
};

}  // namespace kvorum::sync
