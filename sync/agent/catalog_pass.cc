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
  Write rest{.id = options_.node,
             .operations = {DeleteAll(options_.keys.EntriesOf(options_.node))}};
  if (options_.keeps_records) {
    rest.operations.push_back(DeleteAll(options_.keys.KeptServicesOf(options_.node)));
    rest.operations.push_back(Delete(options_.keys.KeptNode(options_.node)));
    rest.operations.push_back(Delete(options_.keys.Life(options_.node)));
  }
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
  found_ = {};
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
                 ListPage(Listing::kLeased, PrefixOf(Listing::kLeased), 0);
               }));
}

std::string CatalogPass::PrefixOf(Listing listing) const {
  return listing == Listing::kKept ? options_.keys.KeptServicesOf(options_.node)
                                   : options_.keys.EntriesOf(options_.node);
}

void CatalogPass::ListPage(Listing listing, std::string from, std::int64_t revision) {
  store_.Range({.key = std::move(from),
                .end = PrefixEnd(PrefixOf(listing)),
                .revision = revision,
                .limit = options_.page_keys},
               OnLoop<RangeAnswer>(loop_, [this, listing, revision](Result<RangeAnswer> answer) {
                 if (!answer) return End(Outcome::End::kFailed, answer.error());
                 TakePage(listing, answer->kvs);
                 if (answer->has_more && !answer->kvs.empty()) {
                   return ListPage(listing, answer->kvs.back().key + '\0',
                                   revision == 0 ? answer->revision : revision);
                 }
                 Listed(listing);
               }));
}

void CatalogPass::TakePage(Listing listing, const std::vector<KeyValue>& kvs) {
  const std::size_t prefix_bytes = PrefixOf(listing).size();
  const std::lock_guard lock(shared_.mutex);
  for (const KeyValue& kv : kvs) {
    const std::string id = kv.key.substr(prefix_bytes);
    if (shared_.registry.Has(id)) {
      (listing == Listing::kKept ? found_.kept : found_.entries)[id] = kv;
      continue;
    }
    Stray& stray = found_.strays[id];
    if (listing == Listing::kKept) {
      stray.is_kept = true;
      continue;
    }
    stray.is_leased = true;
    // A key that we would not have written names no service entry of this node.
    const auto record = DecodeRecord(kv.value);
    if (record && ValidateId(id)) stray.name = record->name;
  }
}

void CatalogPass::Listed(Listing listing) {
  if (listing == Listing::kLeased && options_.keeps_records)
    return ListPage(Listing::kKept, PrefixOf(Listing::kKept), 0);
  {
    const std::lock_guard lock(shared_.mutex);
    services_ = shared_.registry.IdsAndNames();
  }
  services_read_ = 0;
  services_one_by_one_until_ = 0;
  if (options_.keeps_records) return ReadNode();
  ReadServices();
}

void CatalogPass::ReadNode() {
  store_.Range({.key = options_.keys.KeptNode(options_.node)},
               OnLoop<RangeAnswer>(loop_, [this](Result<RangeAnswer> answer) {
                 if (!answer) return End(Outcome::End::kFailed, answer.error());
                 if (!answer->kvs.empty()) found_.kept_node = std::move(answer->kvs.front());
                 ReadServices();
               }));
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
      found_.services[services_[services_read_ + i].first] = ranges[i].kvs.front();
  }
}

void CatalogPass::CompareAll() {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.registry.Unblock();
    for (const auto& [id, name] : services_) {
      const auto entry = found_.entries.find(id);
      const auto service = found_.services.find(id);
      Registry::Remote remote;
      if (entry != found_.entries.end()) remote.record = entry->second.value;
      if (service != found_.services.end()) remote.service_record = service->second.value;
      remote.is_ours = entry != found_.entries.end() && service != found_.services.end() &&
                       entry->second.lease == session_.lease &&
                       service->second.lease == session_.lease;
      if (const auto kept = found_.kept.find(id);
          kept != found_.kept.end() && kept->second.lease == 0)
        remote.kept = kept->second.value;
      shared_.registry.Compare(id, name, remote);
    }
    if (options_.keeps_records) {
      const bool is_kept = found_.kept_node && found_.kept_node->lease == 0;
      shared_.registry.CompareNode(is_kept ? std::optional(found_.kept_node->value) : std::nullopt);
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
  if (options_.store_of) write.token = std::move(change.token);
  const auto put = [&](std::string key, const std::string& value, std::int64_t lease) {
    write.size_bytes += value.size();
    write.operations.push_back(
        {.kind = Operation::Kind::kPut, .key = std::move(key), .value = value, .lease = lease});
  };
  const auto service = [&](const std::string& name) {
    return options_.keys.ServiceEntry(name, options_.node, change.id);
  };
  for (const std::string& name : change.stale_names)
    write.operations.push_back(Delete(service(name)));
  const std::string entry = options_.keys.EntryOf(options_.node, change.id);
  const std::string kept = options_.keys.KeptService(options_.node, change.id);
  if (change.id == Registry::kNodeRecord) {
    put(options_.keys.KeptNode(options_.node), *change.kept, 0);
  } else if (change.record) {
    put(entry, *change.record, session_.lease);
    put(service(change.name), *change.record, session_.lease);
    if (change.kept) put(kept, *change.kept, 0);
  } else {
    write.operations.push_back(Delete(entry));
    if (options_.keeps_records) write.operations.push_back(Delete(kept));
  }
  writes_.push_back(std::move(write));
}

void CatalogPass::AddStrays() {
  for (const auto& [id, stray] : found_.strays) {
    if (shared_.registry.Has(id)) continue;  // registered meanwhile
    Write write{.id = id, .operations = {}};
    if (stray.is_leased)
      write.operations.push_back(Delete(options_.keys.EntryOf(options_.node, id)));
    if (!stray.name.empty())
      write.operations.push_back(Delete(options_.keys.ServiceEntry(stray.name, options_.node, id)));
    if (stray.is_kept)
      write.operations.push_back(Delete(options_.keys.KeptService(options_.node, id)));
    writes_.push_back(std::move(write));
  }
}

void CatalogPass::Push() {
  if (writes_done_ == writes_.size()) {
    if (error_code_ == Code::kOk) return End(Outcome::End::kOk);
    return End(Outcome::End::kFailed, Error{error_code_, errors_});
  }
  TxnRequest request{.compares = SessionCompare(), .then = {}};
  const std::string& token = writes_[writes_done_].token;
  std::size_t count = 0;
  std::size_t size_bytes = 0;
  while (writes_done_ + count < writes_.size()) {
    const Write& write = writes_[writes_done_ + count];
    size_bytes += write.size_bytes;
    const bool fits =
        request.then.size() + write.operations.size() <= options_.max_txn_operations &&
        size_bytes <= options_.max_txn_bytes && writes_done_ + count >= one_by_one_until_ &&
        write.token == token;
    if (count > 0 && !fits) break;
    request.then.insert(request.then.end(), write.operations.begin(), write.operations.end());
    ++count;
  }
  if (!token.empty()) return PushAs(token, std::move(request), count);
  store_.Txn(std::move(request), OnLoop<TxnAnswer>(loop_, [this, count](Result<TxnAnswer> answer) {
               Pushed(count, std::move(answer));
             }));
}

// A token that the store does not know is one without permission, not a store that fails.
void CatalogPass::PushAs(const std::string& token, TxnRequest request, std::size_t count) {
  const auto pushed = [this, count](Result<TxnAnswer> answer) {
    if (!answer && answer.error().code == Code::kUnauthenticated)
      answer = Fail(Code::kPermissionDenied, answer.error().message);
    Pushed(count, std::move(answer));
  };
  options_.store_of(
      token,
      OnLoop<std::shared_ptr<Store>>(loop_, [this, pushed, request = std::move(request)](
                                                Result<std::shared_ptr<Store>> store) mutable {
        if (!store) return pushed(Fail(store.error()));
        store_of_token_ = *std::move(store);
        store_of_token_->Txn(std::move(request), OnLoop<TxnAnswer>(loop_, pushed));
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
  store_of_token_ = nullptr;
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

Operation CatalogPass::DeleteAll(std::string prefix) {
  Operation operation = Delete(std::move(prefix));
  operation.end = PrefixEnd(operation.key);
  return operation;
}

}  // namespace kvorum::sync
