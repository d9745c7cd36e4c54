// A store in memory with the rules that anti-entropy leans on: transactions, create revisions, and
// leases that expire by the test's own time. Every answer takes `latency`; any call can be refused.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sync/store/store.h"
#include "tests/sync/manual_executor.h"

namespace kvorum::sync {

class CatalogStore final : public Store {
 public:
  explicit CatalogStore(ManualExecutor& executor) : executor_(executor) {}

  struct Change {
    std::int64_t revision = 0;
    std::string key;
    bool is_delete = false;
  };

  // Somebody else's writes.
  void Put(const std::string& key, const std::string& value, std::int64_t lease = 0) {
    ++revision_;
    Set(key, value, lease);
  }
  void Delete(const std::string& key) {
    ++revision_;
    Erase(key);
  }
  void ExpireLease(std::int64_t lease) {
    leases_.erase(lease);
    DropKeysOf(lease);
  }

  const std::map<std::string, KeyValue>& keys() {
    Expire();
    return keys_;
  }
  std::vector<std::string> KeysUnder(const std::string& prefix) {
    std::vector<std::string> found;
    for (const auto& [key, kv] : keys())
      if (key.starts_with(prefix)) found.push_back(key);
    return found;
  }
  std::string ValueOf(const std::string& key) {
    const auto found = keys().find(key);
    return found == keys_.end() ? "" : found->second.value;
  }
  const std::vector<Change>& changes() {
    Expire();
    return changes_;
  }
  const std::map<std::int64_t, TimePoint>& leases() const { return leases_; }

  // Calls so far.
  int ranges = 0;
  int txns = 0;
  int grants = 0;
  std::vector<TxnRequest> writes;  // the transactions that were asked to write
  Duration latency = std::chrono::milliseconds(1);
  // Answers as no store should: a granted lease's id, what a transaction wrote.
  std::optional<std::int64_t> granted_id = {};
  std::optional<std::int64_t> written_revision = {};
  // An error for every call.
  std::optional<Error> down = {};
  // An error for a transaction.
  std::function<std::optional<Error>(const TxnRequest&)> refuse = {};
  // Called when a transaction has arrived, before it is done.
  std::function<void(const TxnRequest&)> on_txn = {};

  void Range(RangeRequest request, OnAnswer<RangeAnswer> on_answer) override {
    ++ranges;
    Answer<RangeAnswer>(std::move(on_answer), [this, request = std::move(request)] {
      return Result<RangeAnswer>(Read(request));
    });
  }

  void Txn(TxnRequest request, OnAnswer<TxnAnswer> on_answer) override {
    ++txns;
    const bool is_write = std::ranges::any_of(
        request.then, [](const auto& op) { return op.kind != Operation::Kind::kRange; });
    if (is_write) writes.push_back(request);
    Answer<TxnAnswer>(std::move(on_answer),
                      [this, request = std::move(request)] { return Do(request); });
  }

  std::unique_ptr<StoreWatch> Watch(WatchRequest, WatchSink) override { return nullptr; }

  void LeaseGrant(std::int64_t ttl_s, OnAnswer<LeaseAnswer> on_answer) override {
    ++grants;
    Answer<LeaseAnswer>(std::move(on_answer), [this, ttl_s] {
      const std::int64_t id = ++last_lease_;
      ttls_[id] = ttl_s;
      leases_[id] = executor_.Now() + std::chrono::seconds(ttl_s);
      return Result<LeaseAnswer>(LeaseAnswer{.id = granted_id.value_or(id), .ttl_s = ttl_s});
    });
  }
  void LeaseKeepAlive(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) override {
    Answer<LeaseAnswer>(std::move(on_answer), [this, lease] {
      if (!leases_.contains(lease)) return Result<LeaseAnswer>(LeaseAnswer{.id = lease});
      leases_[lease] = executor_.Now() + std::chrono::seconds(ttls_[lease]);
      return Result<LeaseAnswer>(LeaseAnswer{.id = lease, .ttl_s = ttls_[lease]});
    });
  }
  void LeaseRevoke(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) override {
    Answer<LeaseAnswer>(std::move(on_answer), [this, lease]() -> Result<LeaseAnswer> {
      if (leases_.erase(lease) == 0) return Fail(Code::kNotFound, "requested lease not found");
      DropKeysOf(lease);
      return LeaseAnswer{.id = lease};
    });
  }
  bool has_ordered_progress() const override { return true; }

 private:
  template <class T, class Call>
  void Answer(OnAnswer<T> on_answer, Call call) {
    executor_.PostAt(executor_.Now() + latency,
                     [this, on_answer = std::move(on_answer), call = std::move(call)]() mutable {
                       Expire();
                       if (down) return on_answer(Fail(*down));
                       on_answer(call());
                     });
  }

  RangeAnswer Read(const RangeRequest& request) const {
    RangeAnswer answer{.revision = revision_, .kvs = {}};
    for (const auto& [key, kv] : keys_) {
      if (request.end.empty() ? key != request.key : key < request.key || key >= request.end)
        continue;
      ++answer.count;
      if (request.count_only) continue;
      if (request.limit != 0 && std::ssize(answer.kvs) == request.limit) {
        answer.has_more = true;
        continue;
      }
      answer.kvs.push_back(kv);
    }
    return answer;
  }

  Result<TxnAnswer> Do(const TxnRequest& request) {
    if (on_txn) on_txn(request);
    if (refuse) {
      if (const auto error = refuse(request)) return Fail(*error);
    }
    TxnAnswer answer{.revision = revision_, .succeeded = true};
    for (const Compare& compare : request.compares) {
      const auto found = keys_.find(compare.key);
      const std::int64_t created = found == keys_.end() ? 0 : found->second.create_revision;
      answer.succeeded = answer.succeeded && created == compare.number;
    }
    if (!answer.succeeded) return answer;
    const std::size_t before = changes_.size();
    ++revision_;
    for (const Operation& op : request.then) {
      switch (op.kind) {
        case Operation::Kind::kRange:
          answer.ranges.push_back(Read({.key = op.key, .end = op.end}));
          break;
        case Operation::Kind::kPut:
          if (op.lease != 0 && !leases_.contains(op.lease))
            return Fail(Code::kNotFound, "requested lease not found");
          Set(op.key, op.value, op.lease);
          break;
        case Operation::Kind::kDelete:
          for (const KeyValue& kv : Read({.key = op.key, .end = op.end}).kvs) Erase(kv.key);
          break;
      }
    }
    if (changes_.size() == before) --revision_;
    answer.revision = written_revision.value_or(revision_);
    return answer;
  }

  void Set(const std::string& key, const std::string& value, std::int64_t lease) {
    KeyValue& kv = keys_[key];
    kv.key = key;
    kv.value = value;
    kv.lease = lease;
    if (kv.create_revision == 0) kv.create_revision = revision_;
    kv.mod_revision = revision_;
    ++kv.version;
    changes_.push_back({.revision = revision_, .key = key});
  }
  void Erase(const std::string& key) {
    if (keys_.erase(key) != 0)
      changes_.push_back({.revision = revision_, .key = key, .is_delete = true});
  }
  void DropKeysOf(std::int64_t lease) {
    ++revision_;
    std::vector<std::string> gone;
    for (const auto& [key, kv] : keys_)
      if (kv.lease == lease) gone.push_back(key);
    for (const std::string& key : gone) Erase(key);
  }
  void Expire() {
    std::vector<std::int64_t> expired;
    for (const auto& [lease, when] : leases_)
      if (when <= executor_.Now()) expired.push_back(lease);
    for (const std::int64_t lease : expired) ExpireLease(lease);
  }

  ManualExecutor& executor_;
  std::int64_t revision_ = 1;
  std::int64_t last_lease_ = 100;
  std::map<std::string, KeyValue> keys_;
  std::map<std::int64_t, TimePoint> leases_;
  std::map<std::int64_t, std::int64_t> ttls_;
  std::vector<Change> changes_;
};

}  // namespace kvorum::sync
