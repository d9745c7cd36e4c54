// A bucket in memory, and stores over it that fail as a test wants: before a call has its effect,
// or behind it, as if the answer was lost. Thread-safe but for the hooks.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "archive/store/object_store.h"

namespace kvorum::archive {

struct Bucket {
  std::mutex mutex;
  std::map<std::string, std::string> objects;
  std::map<std::string, std::string> locks;  // texts, by key
  std::set<std::string> ever;                // keys that were ever put
  std::uint64_t overwritten = 0;             // objects that were replaced, marks excepted
};

class MemoryStore final : public ObjectStore {
 public:
  enum class Call : std::uint8_t { kPut, kGet, kHead, kList, kDelete };
  enum class Fault : std::uint8_t { kNot, kBefore, kBehind };
  using Hook = std::function<Fault(Call call, const std::string& key)>;

  explicit MemoryStore(Bucket& bucket, Hook hook = {}) : bucket_(bucket), hook_(std::move(hook)) {}

  StoreResult<void> Put(const std::string& key, std::string_view bytes,
                        const PutOptions& options) override {
    const Fault fault = Ask(Call::kPut, key);
    if (fault == Fault::kBefore) return Failed();
    const std::lock_guard lock(bucket_.mutex);
    KV_RETURN_IF_ERROR(CheckKey(key));
    KV_RETURN_IF_ERROR(CheckObjectSize(key, bytes));
    const bool is_there = bucket_.objects.contains(key);
    if (options.if_absent && is_there) return StoreFail(StoreErrorKind::kExists, key + " exists");
    if (is_there && !key.ends_with("/mark.json")) ++bucket_.overwritten;
    bucket_.objects[key] = bytes;
    bucket_.ever.insert(key);
    if (fault == Fault::kBehind) return Failed();
    return {};
  }
  StoreResult<ObjectInfo> Get(const std::string& key, const GetOptions& options,
                              const PieceSink& sink) override {
    if (Ask(Call::kGet, key) != Fault::kNot) return Failed();
    std::string bytes;
    {
      const std::lock_guard lock(bucket_.mutex);
      const auto found = bucket_.objects.find(key);
      if (found == bucket_.objects.end()) return StoreFail(StoreErrorKind::kAbsent, key);
      bytes = found->second;
    }
    const ObjectInfo info = {.size_bytes = bytes.size()};
    if (options.on_begin) options.on_begin(info);
    KV_RETURN_IF_ERROR(sink(bytes));
    return info;
  }
  StoreResult<ObjectInfo> Head(const std::string& key) override {
    if (Ask(Call::kHead, key) != Fault::kNot) return Failed();
    const std::lock_guard lock(bucket_.mutex);
    const auto found = bucket_.objects.find(key);
    if (found == bucket_.objects.end()) return StoreFail(StoreErrorKind::kAbsent, key);
    const auto locked = bucket_.locks.find(key);
    return ObjectInfo{.size_bytes = found->second.size(),
                      .lock = locked == bucket_.locks.end() ? "" : locked->second};
  }
  StoreResult<void> List(const ListOptions& options, const ListSink& sink) override {
    if (Ask(Call::kList, options.prefix) != Fault::kNot) return Failed();
    std::vector<std::pair<std::string, std::uint64_t>> found;
    {
      const std::lock_guard lock(bucket_.mutex);
      for (const auto& [key, bytes] : bucket_.objects) {
        if (key.starts_with(options.prefix) && key > options.after)
          found.emplace_back(key, bytes.size());
      }
    }
    for (const auto& [key, size] : found) {
      if (!sink(key, size)) return {};
    }
    return {};
  }
  StoreResult<std::vector<DeleteFailure>> Delete(std::span<const std::string> keys) override {
    const Fault fault = Ask(Call::kDelete, keys.front());
    if (fault == Fault::kBefore) return Failed();
    const std::lock_guard lock(bucket_.mutex);
    std::vector<DeleteFailure> failures;
    for (const std::string& key : keys) {
      const auto locked = bucket_.locks.find(key);
      if (locked == bucket_.locks.end()) {
        bucket_.objects.erase(key);
      } else {
        failures.push_back(
            {.key = key, .error = {.kind = StoreErrorKind::kLocked, .text = locked->second}});
      }
    }
    if (fault == Fault::kBehind) return Failed();
    return failures;
  }
  void RenewConnection() override {}
  const std::string& name() const override { return name_; }

 private:
  Fault Ask(Call call, const std::string& key) { return hook_ ? hook_(call, key) : Fault::kNot; }
  static std::unexpected<StoreError> Failed() {
    return StoreFail(StoreErrorKind::kUnavailable, "the store is away");
  }

  Bucket& bucket_;
  const Hook hook_;
  const std::string name_ = "memory://bucket";
};

}  // namespace kvorum::archive
