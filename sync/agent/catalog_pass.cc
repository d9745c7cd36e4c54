#include "sync/agent/catalog_pass.h"

#include <algorithm>
#include <utility>

#include "base/key_range.h"
#include "sync/store/answer.h"

namespace kvorum::sync {
namespace {

// The store does not answer, or would say the same of every entry.
bool IsOfTheStore(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kCanceled ||
         code == Code::kResourceExhausted || code == Code::kUnauthenticated;
}

}  // namespace

CatalogPass::CatalogPass(Store& store, SharedRegistry& registry, Pause& pause, Loop::Handle loop,
                         CatalogPassOptions options)
    : store_(store),
      shared_(registry),
      pause_(pause),
      loop_(std::move(loop)),
      options_(std::move(options)) {}

void CatalogPass::Begin(Pass kind, Session session, OnEnd on_end) {
  if (!Prepare(kind, session, std::move(on_end))) return;
  if (kind == Pass::kFull) return CountNodes();
  CollectWrites();
}

void CatalogPass::BeginRemoval(Session session, OnEnd on_end) {
  if (!Prepare(Pass::kNone, session, std::move(on_end))) return;
  {
    const std::lock_guard lock(shared_.mutex);
    for (const auto& [id, names] : shared_.registry.Places()) {
      Write write{.id = id, .operations = {}};
      for (const std::string& name : names)
        write.operations.push_back(Delete(options_.keys.ServiceEntry(name, options_.node, id)));
      writes_.push_back(std::move(write));
    }
  }
  const std::string entries = options_.keys.EntriesOf(options_.node);
  Write rest{.id = options_.node, .operations = {Delete(entries)}};
  rest.operations.front().end = PrefixEnd(entries);
  rest.operations.push_back(Delete(options_.keys.Node(options_.node)));
  writes_.push_back(std::move(rest));
  Push();
}

// False: it has ended already. A revision of 0 would compare equal with a name that is not held.
bool CatalogPass::Prepare(Pass kind, Session session, OnEnd on_end) {
  kind_ = kind;
  session_ = session;
  on_end_ = std::move(on_end);
  errors_.clear();
  error_code_ = Code::kOk;
  entries_.clear();
  strays_.clear();
  service_entries_.clear();
  writes_.clear();
  writes_done_ = 0;
  one_by_one_until_ = 0;
  if (session.lease != 0 && session.revision > 0) return true;
  End(Outcome::End::kSessionLost);
  return false;
}

void CatalogPass::CountNodes() {
  const std::string nodes = options_.keys.Nodes();
  store_.Range({.key = nodes, .end = PrefixEnd(nodes), .count_only = true},
               OnLoop<RangeAnswer>(loop_, [this](Result<RangeAnswer> answer) {
                 if (!answer) return End(Outcome::End::kFailed, answer.error());
                 nodes_ = static_cast<std::uint64_t>(answer->count);
                 ListPage(options_.keys.EntriesOf(options_.node), 0);
               }));
}

void CatalogPass::ListPage(std::string from, std::int64_t revision) {
  store_.Range({.key = std::move(from),
                .end = PrefixEnd(options_.keys.EntriesOf(options_.node)),
                .revision = revision,
                .limit = options_.page_keys},
               OnLoop<RangeAnswer>(loop_, [this, revision](Result<RangeAnswer> answer) {
                 if (!answer) return End(Outcome::End::kFailed, answer.error());
                 TakePage(answer->kvs);
                 if (answer->has_more && !answer->kvs.empty()) {
                   return ListPage(answer->kvs.back().key + '\0',
                                   revision == 0 ? answer->revision : revision);
                 }
                 {
                   const std::lock_guard lock(shared_.mutex);
                   services_ = shared_.registry.IdsAndNames();
                 }
                 services_read_ = 0;
                 services_one_by_one_until_ = 0;
                 ReadServices();
               }));
}

void CatalogPass::TakePage(const std::vector<KeyValue>& kvs) {
  const std::size_t prefix_bytes = options_.keys.EntriesOf(options_.node).size();
  const std::lock_guard lock(shared_.mutex);
  for (const KeyValue& kv : kvs) {
    const std::string id = kv.key.substr(prefix_bytes);
    if (shared_.registry.Has(id)) {
      entries_[id] = kv;
      continue;
    }
    // A key that we would not have written names no service entry of this node.
    const auto record = DecodeRecord(kv.value);
    strays_[id] = record && ValidateId(id) ? record->name : "";
  }
}

void CatalogPass::ReadServices() {
  if (services_read_ == services_.size()) return CompareAll();
  const std::size_t most =
      services_read_ < services_one_by_one_until_ ? 1 : options_.max_txn_operations;
  const std::size_t count = std::min(most, services_.size() - services_read_);
  TxnRequest request{.compares = SessionCompare(), .then = {}};
  for (std::size_t i = services_read_; i < services_read_ + count; ++i) {
    const auto& [id, name] = services_[i];
    request.then.push_back({.kind = Operation::Kind::kRange,
                            .key = options_.keys.ServiceEntry(name, options_.node, id)});
  }
  store_.Txn(std::move(request), OnLoop<TxnAnswer>(loop_, [this, count](Result<TxnAnswer> answer) {
               // Somebody who may not read a service may still write the others.
               const bool is_denied = !answer && answer.error().code == Code::kPermissionDenied;
               if (!answer && !is_denied) return End(Outcome::End::kFailed, answer.error());
               if (answer && !answer->succeeded) return End(Outcome::End::kSessionLost);
               if (is_denied && count > 1) {
                 services_one_by_one_until_ = services_read_ + count;
                 return ReadServices();
               }
               if (answer) TakeServices(count, answer->ranges);
               services_read_ += count;
               ReadServices();
             }));
}

void CatalogPass::TakeServices(std::size_t count, const std::vector<RangeAnswer>& ranges) {
  for (std::size_t i = 0; i < std::min(count, ranges.size()); ++i) {
    if (!ranges[i].kvs.empty())
      service_entries_[services_[services_read_ + i].first] = ranges[i].kvs.front();
  }
}

void CatalogPass::CompareAll() {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.registry.Unblock();
    for (const auto& [id, name] : services_) {
      const auto entry = entries_.find(id);
      const auto service = service_entries_.find(id);
      Registry::Remote remote;
      if (entry != entries_.end()) remote.record = entry->second.value;
      if (service != service_entries_.end()) remote.service_record = service->second.value;
      remote.is_ours = entry != entries_.end() && service != service_entries_.end() &&
                       entry->second.lease == session_.lease &&
                       service->second.lease == session_.lease;
      shared_.registry.Compare(id, name, remote);
    }
  }
  CollectWrites();
}

// The pause is asked under the registry's lock: entries that change under a pause taken after the
// answer are not collected here.
void CatalogPass::CollectWrites() {
  bool is_admitted = false;
  {
    const std::lock_guard lock(shared_.mutex);
    is_admitted = pause_.Admit(kind_);
    if (is_admitted) {
      for (Registry::Change& change : shared_.registry.TakeChanges()) AddChange(std::move(change));
      AddStrays();
    }
  }
  if (!is_admitted) return End(Outcome::End::kPaused);
  Push();
}

void CatalogPass::AddChange(Registry::Change change) {
  Write write{.id = change.id, .version = change.version, .operations = {}};
  const auto key = [&](const std::string& name) {
    return options_.keys.ServiceEntry(name, options_.node, change.id);
  };
  for (const std::string& name : change.stale_names) write.operations.push_back(Delete(key(name)));
  const std::string entry = options_.keys.EntryOf(options_.node, change.id);
  if (change.record) {
    write.size_bytes = 2 * change.record->size();
    for (const std::string& written : {entry, key(change.name)}) {
      write.operations.push_back({.kind = Operation::Kind::kPut,
                                  .key = written,
                                  .value = *change.record,
                                  .lease = session_.lease});
    }
  } else {
    write.operations.push_back(Delete(entry));
  }
  writes_.push_back(std::move(write));
}

void CatalogPass::AddStrays() {
  for (const auto& [id, name] : strays_) {
    if (shared_.registry.Has(id)) continue;  // registered meanwhile
    Write write{.id = id, .operations = {}};
    write.operations.push_back(Delete(options_.keys.EntryOf(options_.node, id)));
    if (!name.empty())
      write.operations.push_back(Delete(options_.keys.ServiceEntry(name, options_.node, id)));
    writes_.push_back(std::move(write));
  }
}

void CatalogPass::Push() {
  if (writes_done_ == writes_.size()) {
    if (error_code_ == Code::kOk) return End(Outcome::End::kOk);
    return End(Outcome::End::kFailed, Error{error_code_, errors_});
  }
  TxnRequest request{.compares = SessionCompare(), .then = {}};
  std::size_t count = 0;
  std::size_t size_bytes = 0;
  while (writes_done_ + count < writes_.size()) {
    const Write& write = writes_[writes_done_ + count];
    size_bytes += write.size_bytes;
    const bool fits =
        request.then.size() + write.operations.size() <= options_.max_txn_operations &&
        size_bytes <= options_.max_txn_bytes && writes_done_ + count >= one_by_one_until_;
    if (count > 0 && !fits) break;
    request.then.insert(request.then.end(), write.operations.begin(), write.operations.end());
    ++count;
  }
  store_.Txn(std::move(request), OnLoop<TxnAnswer>(loop_, [this, count](Result<TxnAnswer> answer) {
               Pushed(count, std::move(answer));
             }));
}

void CatalogPass::Pushed(std::size_t count, Result<TxnAnswer> answer) {
  if (answer && !answer->succeeded) return End(Outcome::End::kSessionLost);
  if (answer) {
    const std::lock_guard lock(shared_.mutex);
    for (std::size_t i = writes_done_; i < writes_done_ + count; ++i)
      shared_.registry.Confirm(writes_[i].id, writes_[i].version);
  } else if (answer.error().code == Code::kNotFound) {
    return End(Outcome::End::kSessionLost, answer.error());
  } else if (IsOfTheStore(answer.error().code)) {
    return End(Outcome::End::kFailed, answer.error());
  } else if (count > 1) {
    one_by_one_until_ = writes_done_ + count;
    return Push();
  } else {
    Refused(writes_[writes_done_], answer.error());
  }
  writes_done_ += count;
  Push();
}

void CatalogPass::Refused(const Write& write, const Error& error) {
  if (error.code == Code::kPermissionDenied) {
    ++times_blocked_;
    const std::lock_guard lock(shared_.mutex);
    shared_.registry.Block(write.id);
    return;
  }
  error_code_ = error.code;
  if (!errors_.empty()) errors_ += "; ";
  errors_ += CleanOutput(write.id) + ": " + error.message;
}

void CatalogPass::End(Outcome::End end, const Error& error) {
  OnEnd on_end = std::exchange(on_end_, nullptr);
  on_end({.end = end, .error = error, .nodes = nodes_});
}

std::vector<Compare> CatalogPass::SessionCompare() const {
  return {{.key = options_.keys.Node(options_.node),
           .target = Compare::Target::kCreateRevision,
           .number = session_.revision}};
}

Operation CatalogPass::Delete(std::string key) {
  return {.kind = Operation::Kind::kDelete, .key = std::move(key)};
}

}  // namespace kvorum::sync
