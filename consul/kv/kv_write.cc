#include "consul/kv/kv_write.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/key_range.h"

namespace kvorum::consul {
namespace {

using sync::Compare;
using sync::Operation;

class Writing {
 public:
  Writing(const KvOutcome& outcome, const KvBase& base, const KvKeys& keys)
      : outcome_(outcome), base_(base), keys_(keys) {}

  sync::TxnRequest Make() {
    Compares();
    for (const auto& [key, final] : outcome_.keys) {
      if (final.is_changed) Change(key, final);
    }
    for (const std::string& tree : outcome_.dead_trees) {
      DeleteTree(keys_.values(), tree, put_values_);
      DeleteTree(keys_.metas(), tree, put_metas_);
    }
    return std::move(request_);
  }

 private:
  void Exists(std::string key) {
    request_.compares.push_back({.key = std::move(key),
                                 .target = Compare::Target::kCreateRevision,
                                 .result = Compare::Result::kGreater});
  }
  void IsMissing(std::string key) {
    request_.compares.push_back(
        {.key = std::move(key), .target = Compare::Target::kCreateRevision});
  }
  void IsAt(std::string key, std::int64_t mod_revision) {
    request_.compares.push_back({.key = std::move(key), .number = mod_revision});
  }

  void Compares() {
    std::map<std::string, std::int64_t> read;
    for (const auto& [key, final] : outcome_.keys) {
      const auto base = base_.keys.find(key);
      const bool was_there = base != base_.keys.end() && base->second.pair;
      read[key] = was_there ? base->second.pair->mod_revision : 0;
    }
    for (const std::string& prefix : outcome_.read_trees) {
      // Nothing new, nothing changed; the keys that were there still are.
      request_.compares.push_back({.key = keys_.Value(prefix),
                                   .result = Compare::Result::kLess,
                                   .number = base_.revision + 1,
                                   .end = PrefixEnd(keys_.Value(prefix))});
      const auto tree = base_.trees.find(prefix);
      if (tree == base_.trees.end()) continue;
      for (const KvPair& pair : tree->second.pairs) read[pair.key] = pair.mod_revision;
    }
    for (const auto& [key, mod_revision] : read) IsAt(keys_.Value(key), mod_revision);
    for (const std::string& session : outcome_.needed_sessions)
      Exists(keys_.registry().Session(session));
    for (const std::string& key : outcome_.undelayed_keys) IsMissing(keys_.Delay(key));
  }

  void Put(std::string key, std::string value) {
    request_.then.push_back(
        {.kind = Operation::Kind::kPut, .key = std::move(key), .value = std::move(value)});
  }
  void Delete(std::string key, std::string end = {}) {
    request_.then.push_back(
        {.kind = Operation::Kind::kDelete, .key = std::move(key), .end = std::move(end)});
  }

  void Change(const std::string& key, const KvOutcome::Final& final) {
    static const KvBase::Key kNone;
    const auto found = base_.keys.find(key);
    const KvBase::Key& base = found == base_.keys.end() ? kNone : found->second;
    const KvMeta meta = final.pair ? KvMeta{.flags = final.pair->flags,
                                            .lock_index = final.pair->lock_index,
                                            .session = final.pair->session}
                                   : KvMeta{};
    if (final.pair) {
      Put(keys_.Value(key), final.pair->value);
      put_values_.insert(key);
    } else if (base.pair && !final.is_in_dead_tree) {
      Delete(keys_.Value(key));
    }
    if (meta != KvMeta{}) {
      Put(keys_.Meta(key), EncodeMeta(meta));
      put_metas_.insert(key);
    } else if (base.has_meta && !final.is_in_dead_tree) {
      Delete(keys_.Meta(key));
    }
    const std::string before = base.pair ? base.pair->session : std::string();
    if (before == meta.session) return;
    if (!before.empty() && IsSessionId(before)) Delete(keys_.Lock(before, key));
    const auto session = base_.sessions.find(meta.session);
    if (session != base_.sessions.end())
      Put(keys_.Lock(meta.session, key), EncodeLock(HeldBy(session->second)));
  }

  // The range without the keys in it that are put: one transaction may not do both to a key. The
  // locks of keys in the tree stay; the end of their sessions clears them.
  void DeleteTree(const std::string& prefix, const std::string& tree,
                  const std::set<std::string>& puts) {
    std::string begin = prefix + tree;
    const std::string end = PrefixEnd(begin);
    for (auto put = puts.lower_bound(tree); put != puts.end() && put->starts_with(tree); ++put) {
      const std::string key = prefix + *put;
      if (begin < key) Delete(begin, key);
      begin = key + '\0';
    }
    Delete(std::move(begin), end);
  }

  const KvOutcome& outcome_;
  const KvBase& base_;
  const KvKeys& keys_;
  sync::TxnRequest request_;
  std::set<std::string> put_values_;
  std::set<std::string> put_metas_;
};

}  // namespace

Result<sync::TxnRequest> WriteOf(const KvOutcome& outcome, const KvBase& base, const KvKeys& keys) {
  sync::TxnRequest request = Writing(outcome, base, keys).Make();
  const std::size_t operations = std::max(request.compares.size(), request.then.size());
  if (operations > kMaxStoreOperations)
    return Fail(Code::kResourceExhausted, "Transaction contains too many operations (" +
                                              std::to_string(operations) + " > " +
                                              std::to_string(kMaxStoreOperations) + ")");
  return request;
}

}  // namespace kvorum::consul
