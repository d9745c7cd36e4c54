#include "tests/sync/fake_store.h"

#include <algorithm>
#include <utility>

#include "base/key_range.h"

namespace kvorum::sync {

class FakeStore::OpenWatch final : public StoreWatch {
 public:
  OpenWatch(FakeStore& store, WatchRequest watch_request, WatchSink watch_sink)
      : next(watch_request.from_revision),
        request(std::move(watch_request)),
        sink(std::move(watch_sink)),
        store_(store) {
    store_.open_.push_back(this);
  }
  ~OpenWatch() override { std::erase(store_.open_, this); }
  OpenWatch(const OpenWatch&) = delete;
  OpenWatch& operator=(const OpenWatch&) = delete;

  void RequestProgress() override {
    ++store_.progress_requests_;
    if (store_.answers_progress_ && store_.is_connected_ && untaken < kWatchWindow) Progress();
  }
  void Taken() override {
    --untaken;
    store_.Feed(*this);
  }

  void Progress() {
    ++untaken;
    next = std::max(next, store_.revision_ + 1);
    sink.on_batch({.revision = store_.revision_, .events = {}});
  }

  std::int64_t next;
  int untaken = 0;
  const WatchRequest request;
  const WatchSink sink;

 private:
  FakeStore& store_;
};

std::int64_t FakeStore::Commit(const std::vector<Write>& writes) { return Commit(writes, {}); }

std::int64_t FakeStore::Commit(const std::vector<Write>& writes,
                               const std::map<std::string, std::int64_t>& leases) {
  const std::int64_t revision = revision_ + 1;
  std::vector<Event> events;
  for (const auto& [key, value] : writes) {
    std::vector<KeyValue>& versions = keys_[key];
    const KeyValue before = versions.empty() ? KeyValue{} : versions.back();
    if (!value && before.version == 0) continue;
    KeyValue after{.key = key, .value = value.value_or(""), .mod_revision = revision};
    if (value) {
      after.version = before.version + 1;
      after.create_revision = before.version == 0 ? revision : before.create_revision;
      if (const auto lease = leases.find(key); lease != leases.end()) after.lease = lease->second;
    }
    versions.push_back(after);
    events.push_back({.is_delete = !value, .kv = after, .prev = before});
    if (before.version == 0) events.back().prev = {};
  }
  if (events.empty()) return revision_;
  revision_ = revision;
  history_[revision] = std::move(events);
  for (OpenWatch* watch : std::vector(open_)) Feed(*watch);
  return revision_;
}

void FakeStore::ExpireLease(std::int64_t lease) {
  leases_.erase(lease);
  std::vector<Write> writes;
  for (const auto& [key, versions] : keys_) {
    if (versions.back().version != 0 && versions.back().lease == lease)
      writes.emplace_back(key, std::nullopt);
  }
  Commit(writes);
}

std::int64_t FakeStore::LeaseOf(const std::string& key) const {
  const KeyValue* found = At(key, revision_);
  return found == nullptr ? 0 : found->lease;
}

std::map<std::string, std::string> FakeStore::Contents() const {
  std::map<std::string, std::string> contents;
  for (const auto& [key, versions] : keys_) {
    if (versions.back().version != 0) contents[key] = versions.back().value;
  }
  return contents;
}

void FakeStore::Restore(std::int64_t revision) {
  for (auto& [key, versions] : keys_)
    std::erase_if(versions, [&](const KeyValue& kv) { return kv.mod_revision > revision; });
  std::erase_if(keys_, [](const auto& entry) { return entry.second.empty(); });
  history_.erase(history_.upper_bound(revision), history_.end());
  revision_ = revision;
}

void FakeStore::Connect() {
  is_connected_ = true;
  for (OpenWatch* watch : std::vector(open_)) {
    if (watch->next <= compacted_) {
      watch->sink.on_end(
          {.error = {Code::kOutOfRange, "compacted"}, .compact_revision = compacted_});
    } else {
      Feed(*watch);
    }
  }
}

void FakeStore::EndWatches(const Error& error) {
  for (OpenWatch* watch : std::vector(open_)) watch->sink.on_end({.error = error});
}

void FakeStore::NotifyProgress() {
  for (OpenWatch* watch : std::vector(open_)) watch->Progress();
}

void FakeStore::FailRanges(const Error& error, int times) { range_failure_ = {error, times}; }
void FakeStore::FailWatches(const Error& error, int times) { watch_failure_ = {error, times}; }

void FakeStore::LetGo() {
  holds_ranges_ = false;
  for (auto& answer : std::exchange(held_, {})) answer();
}

int FakeStore::untaken() const {
  int sum = 0;
  for (const OpenWatch* watch : open_) sum += watch->untaken;
  return sum;
}

void FakeStore::Range(RangeRequest request, OnAnswer<RangeAnswer> on_answer) {
  ++ranges_;
  auto answer = [this, request = std::move(request), on_answer = std::move(on_answer)]() mutable {
    if (auto error = range_failure_.Take()) return on_answer(Fail(*std::move(error)));
    Result<RangeAnswer> read = Read(request);
    if (read) {
      largest_range_ = std::max(largest_range_, read->kvs.size());
      last_range_ = read->kvs.data();
    }
    on_answer(std::move(read));
  };
  if (holds_ranges_) {
    held_.emplace_back(std::move(answer));
  } else {
    answer();
  }
}

const KeyValue* FakeStore::At(const std::string& key, std::int64_t revision) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return nullptr;
  const KeyValue* at = nullptr;
  for (const KeyValue& version : found->second) {
    if (version.mod_revision <= revision) at = &version;
  }
  return at != nullptr && at->version != 0 ? at : nullptr;
}

Result<RangeAnswer> FakeStore::Read(const RangeRequest& request) const {
  if (request.newest_first) {
    RangeRequest all = request;
    all.newest_first = false;
    all.limit = 0;
    Result<RangeAnswer> answer = Read(all);
    if (!answer) return answer;
    std::ranges::sort(answer->kvs, std::greater(), &KeyValue::mod_revision);
    answer->has_more = request.limit != 0 && std::ssize(answer->kvs) > request.limit;
    if (answer->has_more) answer->kvs.resize(static_cast<std::size_t>(request.limit));
    return answer;
  }
  const std::int64_t at = request.revision == 0 ? revision_ : request.revision;
  if (at < compacted_)
    return Fail(Code::kOutOfRange, "etcdserver: mvcc: required revision has been compacted");
  RangeAnswer answer{.revision = revision_};
  std::size_t bytes = 0;
  const KeyRange range(request.key, request.end);
  for (auto it = keys_.lower_bound(request.key); it != keys_.end(); ++it) {
    if (!range.BeforeEnd(it->first)) break;
    const KeyValue* kv = At(it->first, at);
    if (kv == nullptr) continue;
    ++answer.count;
    if (request.count_only) continue;
    if (request.limit != 0 && std::ssize(answer.kvs) == request.limit) {
      answer.has_more = true;
      continue;
    }
    answer.kvs.push_back(*kv);
    if (request.keys_only) answer.kvs.back().value.clear();
    bytes += kv->key.size() + answer.kvs.back().value.size();
    if (bytes > most_answer_bytes_)
      return Fail(Code::kResourceExhausted, "the answer is too large");
  }
  return answer;
}

bool FakeStore::HoldsFor(const Compare& compare, const KeyValue& kv) const {
  const auto judge = [&](const auto& have, const auto& want) {
    switch (compare.result) {
      case Compare::Result::kEqual:
        return have == want;
      case Compare::Result::kNotEqual:
        return have != want;
      case Compare::Result::kLess:
        return have < want;
      case Compare::Result::kGreater:
        return have > want;
    }
    return false;
  };
  switch (compare.target) {
    case Compare::Target::kCreateRevision:
      return judge(kv.create_revision, compare.number);
    case Compare::Target::kModRevision:
      return judge(kv.mod_revision, compare.number);
    case Compare::Target::kVersion:
      return judge(kv.version, compare.number);
    case Compare::Target::kLease:
      return judge(kv.lease, compare.number);
    case Compare::Target::kValue:
      return kv.version != 0 && judge(kv.value, compare.value);
  }
  return false;
}

bool FakeStore::Holds(const Compare& compare) const {
  const auto kvs = Read({.key = compare.key, .end = compare.end})->kvs;
  if (kvs.empty()) return HoldsFor(compare, KeyValue{});
  return std::ranges::all_of(kvs, [&](const KeyValue& kv) { return HoldsFor(compare, kv); });
}

void FakeStore::Txn(TxnRequest request, OnAnswer<TxnAnswer> on_answer) {
  ++txns_;
  const auto is_write = [](const Operation& operation) {
    return operation.kind != Operation::Kind::kRange;
  };
  if (std::max({request.compares.size(), request.then.size(), request.otherwise.size()}) >
      most_operations_)
    return on_answer(
        Fail(Code::kInvalidArgument, "etcdserver: too many operations in txn request"));
  if (std::ranges::any_of(request.then, is_write)) {
    ++writes_;
    if (const auto before = before_write_) before();
    if (auto error = write_failure_.Take()) return on_answer(Fail(*std::move(error)));
  }
  TxnAnswer answer{.succeeded = std::ranges::all_of(
                       request.compares, [&](const Compare& one) { return Holds(one); })};
  std::vector<Write> writes;
  std::map<std::string, std::int64_t> leases;
  for (const Operation& operation : answer.succeeded ? request.then : request.otherwise) {
    switch (operation.kind) {
      case Operation::Kind::kPut:
        if (operation.lease != 0 && !leases_.contains(operation.lease))
          return on_answer(Fail(Code::kNotFound, "etcdserver: requested lease not found"));
        if (std::ranges::find(writes, operation.key, &Write::first) != writes.end())
          return on_answer(
              Fail(Code::kInvalidArgument, "etcdserver: duplicate key given in txn request"));
        writes.emplace_back(operation.key, operation.value);
        leases[operation.key] = operation.lease;
        break;
      case Operation::Kind::kDelete: {
        const auto kvs = Read({.key = operation.key, .end = operation.end})->kvs;
        const KeyRange range(operation.key, operation.end);
        for (const Write& write : writes) {
          if (write.second && range.Contains(write.first))
            return on_answer(
                Fail(Code::kInvalidArgument, "etcdserver: duplicate key given in txn request"));
        }
        for (const KeyValue& kv : kvs) {
          if (std::ranges::find(writes, kv.key, &Write::first) == writes.end())
            writes.emplace_back(kv.key, std::nullopt);
        }
        break;
      }
      case Operation::Kind::kRange: {
        auto read = Read({.key = operation.key,
                          .end = operation.end,
                          .revision = operation.revision,
                          .keys_only = operation.keys_only});
        if (!read) return on_answer(Fail(read.error()));
        answer.ranges.push_back(*std::move(read));
        break;
      }
    }
  }
  answer.revision = writes.empty() ? revision_ : Commit(writes, leases);
  on_answer(std::move(answer));
}

std::unique_ptr<StoreWatch> FakeStore::Watch(WatchRequest request, WatchSink sink) {
  ++watches_;
  last_watch_from_ = request.from_revision;
  auto watch = std::make_unique<OpenWatch>(*this, std::move(request), std::move(sink));
  if (auto error = watch_failure_.Take()) {
    watch->sink.on_end({.error = *std::move(error)});
  } else if (is_connected_ && watch->next <= compacted_) {
    watch->sink.on_end({.error = {Code::kOutOfRange, "compacted"}, .compact_revision = compacted_});
  } else {
    Feed(*watch);
  }
  return watch;
}

// The batches that the watch has room for: one for each revision.
void FakeStore::Feed(OpenWatch& watch) {
  if (!is_connected_) return;
  const KeyRange range(watch.request.key, watch.request.end);
  for (auto it = history_.lower_bound(watch.next); it != history_.end(); ++it) {
    WatchBatch batch{.revision = revision_, .events = {}};
    for (const Event& event : it->second) {
      if (!range.Contains(event.kv.key)) continue;
      batch.events.push_back(event);
      if (!watch.request.with_previous) batch.events.back().prev = {};
    }
    if (batch.events.empty()) continue;
    if (watch.untaken >= kWatchWindow) return;
    watch.next = it->first + 1;
    ++watch.untaken;
    watch.sink.on_batch(std::move(batch));
  }
}

void FakeStore::LeaseGrant(std::int64_t ttl_s, OnAnswer<LeaseAnswer> on_answer) {
  ttl_s = std::max(ttl_s, min_ttl_s_);
  leases_[++last_lease_] = ttl_s;
  on_answer(LeaseAnswer{.id = last_lease_, .ttl_s = ttl_s});
}

void FakeStore::LeaseKeepAlive(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) {
  const auto found = leases_.find(lease);
  on_answer(LeaseAnswer{.id = lease, .ttl_s = found == leases_.end() ? 0 : found->second});
}

void FakeStore::LeaseRevoke(std::int64_t lease, OnAnswer<LeaseAnswer> on_answer) {
  if (!leases_.contains(lease))
    return on_answer(Fail(Code::kNotFound, "etcdserver: requested lease not found"));
  ExpireLease(lease);
  on_answer(LeaseAnswer{.id = lease});
}

}  // namespace kvorum::sync
