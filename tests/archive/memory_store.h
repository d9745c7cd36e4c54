// A store in memory, for tests: counts calls, and lets a test do something before a call. Used by
// one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archive/store/object_store.h"

namespace kvorum::archive {

class MemoryStore final : public ObjectStore {
 public:
  StoreResult<void> Put(const std::string& key, std::string_view bytes,
                        const PutOptions& options) override {
    ++puts;
    if (options.if_absent && objects.contains(key))
      return StoreFail(StoreErrorKind::kExists, key + ": it exists");
    objects[key] = bytes;
    return {};
  }
  StoreResult<ObjectInfo> Get(const std::string& key, const GetOptions& options,
                              const PieceSink& sink) override {
    ++gets;
    if (before_get) before_get(key);
    const auto found = objects.find(key);
    if (found == objects.end()) return StoreFail(StoreErrorKind::kAbsent, key + ": it is absent");
    const ObjectInfo info = {.size_bytes = found->second.size()};
    if (options.on_begin) options.on_begin(info);
    std::string_view rest = std::string_view(found->second).substr(options.offset);
    rest = rest.substr(0, options.length.value_or(rest.size()));
    while (!rest.empty()) {
      const std::size_t size = std::min(rest.size(), kMaxPieceBytes);
      KV_RETURN_IF_ERROR(sink(rest.substr(0, size)));
      rest.remove_prefix(size);
    }
    return info;
  }
  StoreResult<ObjectInfo> Head(const std::string& key) override {
    ++heads;
    const auto found = objects.find(key);
    if (found == objects.end()) return StoreFail(StoreErrorKind::kAbsent, key + ": it is absent");
    return ObjectInfo{.size_bytes = found->second.size(),
                      .lock = locked.contains(key) ? "COMPLIANCE until 2027-01-31T00:00:00Z" : ""};
  }
  StoreResult<void> List(const ListOptions& options, const ListSink& sink) override {
    ++lists;
    for (const auto& [key, bytes] : objects) {
      if (!key.starts_with(options.prefix) || key <= options.after) continue;
      if (!sink(key, bytes.size())) break;
    }
    return {};
  }
  StoreResult<std::vector<DeleteFailure>> Delete(std::span<const std::string> keys) override {
    ++deletes;
    std::vector<DeleteFailure> failures;
    for (const std::string& key : keys) {
      if (locked.contains(key))
        failures.push_back({key, {StoreErrorKind::kLocked, key + ": a lock protects it"}});
      else
        objects.erase(key);
    }
    return failures;
  }
  void RenewConnection() override {}
  const std::string& name() const override { return name_; }

  std::map<std::string, std::string> objects;
  std::set<std::string> locked;
  std::function<void(const std::string& key)> before_get;
  std::uint64_t puts = 0;
  std::uint64_t gets = 0;
  std::uint64_t heads = 0;
  std::uint64_t lists = 0;
  std::uint64_t deletes = 0;

 private:
  const std::string name_ = "memory";
};

}  // namespace kvorum::archive
