#include "consul/kv/kv_operation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/go_quote.h"

namespace kvorum::consul {
namespace {

struct Row {
  std::string_view name;
  KvVerb verb;
  bool is_write;
  bool is_tree;
};
constexpr std::array kVerbs = {
    Row{"set", KvVerb::kSet, true, false},
    Row{"cas", KvVerb::kCas, true, false},
    Row{"lock", KvVerb::kLock, true, false},
    Row{"unlock", KvVerb::kUnlock, true, false},
    Row{"get", KvVerb::kGet, false, false},
    Row{"get-or-empty", KvVerb::kGetOrEmpty, false, false},
    Row{"get-tree", KvVerb::kGetTree, false, true},
    Row{"check-index", KvVerb::kCheckIndex, false, false},
    Row{"check-session", KvVerb::kCheckSession, false, false},
    Row{"check-not-exists", KvVerb::kCheckNotExists, false, false},
    Row{"delete", KvVerb::kDelete, true, false},
    Row{"delete-tree", KvVerb::kDeleteTree, true, true},
    Row{"delete-cas", KvVerb::kDeleteCas, true, false},
    Row{"", KvVerb::kUnknown, false, false},
};

const Row& RowOf(KvVerb verb) { return *std::ranges::find(kVerbs, verb, &Row::verb); }

bool IsIndexOf(const KvPair& pair, std::uint64_t index) {
  return pair.mod_revision > 0 && static_cast<std::uint64_t>(pair.mod_revision) == index;
}

class Evaluation {
 public:
  explicit Evaluation(const KvBase& base) : base_(base) {}

  void Do(std::size_t at, const KvOperation& operation) {
    at_ = at;
    if (operation.verb == KvVerb::kUnknown)
      return Fault("unknown KV verb " + GoQuote(operation.value));
    if (operation.key.empty() && !IsTree(operation.verb)) return Fault("Must provide key");
    switch (operation.verb) {
      case KvVerb::kSet:
        return Set(operation);
      case KvVerb::kCas:
        return Cas(operation);
      case KvVerb::kLock:
        return Lock(operation);
      case KvVerb::kUnlock:
        return Unlock(operation);
      case KvVerb::kGet:
        return Get(operation);
      case KvVerb::kGetOrEmpty:
        return GetOrEmpty(operation);
      case KvVerb::kGetTree:
        return GetTree(operation.key);
      case KvVerb::kCheckIndex:
        return CheckIndex(operation);
      case KvVerb::kCheckSession:
        return CheckSession(operation);
      case KvVerb::kCheckNotExists:
        return CheckNotExists(operation);
      case KvVerb::kDelete:
        return Delete(operation.key);
      case KvVerb::kDeleteTree:
        return DeleteTree(operation.key);
      case KvVerb::kDeleteCas:
        return DeleteCas(operation);
      case KvVerb::kUnknown:
        return;
    }
  }

  KvOutcome Take() { return std::move(outcome_); }

 private:
  using Final = KvOutcome::Final;

  void Refuse(const std::string& text, const KvOperation& operation, const std::string& more = {}) {
    outcome_.errors.push_back(
        {.operation = at_, .what = text + " " + GoQuote(operation.key) + more});
  }
  void Fault(std::string what) {
    outcome_.errors.push_back({.operation = at_, .what = std::move(what), .is_fault = true});
  }
  void Answer(KvPair pair, bool has_value) {
    if (!IsAlive(pair.session)) pair.session.clear();
    if (!has_value) pair.value.clear();
    outcome_.results.push_back({.pair = std::move(pair), .has_value = has_value});
  }

  bool IsAlive(const std::string& session) const { return base_.sessions.contains(session); }
  const KvBase::Key& BaseOf(const std::string& key) const {
    static const KvBase::Key kNone;
    const auto found = base_.keys.find(key);
    return found == base_.keys.end() ? kNone : found->second;
  }
  bool IsInDeadTree(std::string_view key) const {
    return std::ranges::any_of(outcome_.dead_trees,
                               [&](const std::string& tree) { return key.starts_with(tree); });
  }

  Final& Touch(const std::string& key) {
    const auto [at, is_new] = outcome_.keys.try_emplace(key);
    if (!is_new) return at->second;
    if (IsInDeadTree(key))
      at->second.is_in_dead_tree = true;
    else
      at->second.pair = BaseOf(key).pair;
    return at->second;
  }

  // Writes the key unless it is like that already.
  void Put(Final& key, KvPair next) {
    if (key.pair) {
      next.create_revision = key.pair->create_revision;
      next.mod_revision = key.pair->mod_revision;
      if (next == *key.pair) return Answer(std::move(next), false);
    } else {
      // A key that is deleted and written in one transaction is written over.
      const auto& before = BaseOf(next.key).pair;
      next.create_revision = before ? before->create_revision : kThisRevision;
    }
    next.mod_revision = kThisRevision;
    key.pair = next;
    key.is_changed = true;
    Answer(std::move(next), false);
  }

  static KvPair Next(const KvOperation& operation, const Final& key) {
    KvPair next{.key = operation.key, .value = operation.value, .flags = operation.flags};
    if (key.pair) {
      next.lock_index = key.pair->lock_index;
      next.session = key.pair->session;
    }
    return next;
  }

  void Set(const KvOperation& operation) {
    Final& key = Touch(operation.key);
    Put(key, Next(operation, key));
  }

  void Cas(const KvOperation& operation) {
    Final& key = Touch(operation.key);
    const bool is_as_asked =
        operation.index == 0 ? !key.pair : key.pair && IsIndexOf(*key.pair, operation.index);
    if (!is_as_asked) return Refuse("failed to set key", operation, ", index is stale");
    Put(key, Next(operation, key));
  }

  void Lock(const KvOperation& operation) {
    if (operation.session.empty()) return Fault("missing session");
    if (!IsAlive(operation.session)) return Fault("invalid session " + GoQuote(operation.session));
    Final& key = Touch(operation.key);
    KvPair next = Next(operation, key);
    if (next.session != operation.session) {
      const KvBase::Key& base = BaseOf(operation.key);
      if (!next.session.empty() && IsAlive(next.session))
        return Refuse("failed to lock key", operation, ", lock is already held");
      // The janitor has not come to a session that has ended: what follows its end is still to
      // begin.
      const bool is_abandoned = !next.session.empty() && base.abandoned &&
                                (base.abandoned->deletes || base.abandoned->lock_delay_ns > 0);
      if (is_abandoned || base.is_delayed)
        return Refuse("failed to lock key", operation, " due to lock delay");
      ++next.lock_index;
      next.session = operation.session;
      outcome_.undelayed_keys.insert(operation.key);
    }
    outcome_.needed_sessions.insert(operation.session);
    Put(key, std::move(next));
  }

  void Unlock(const KvOperation& operation) {
    if (operation.session.empty()) return Fault("missing session");
    Final& key = Touch(operation.key);
    if (!key.pair || key.pair->session != operation.session || !IsAlive(operation.session))
      return Refuse("failed to unlock key", operation,
                    ", lock isn't held, or is held by another session");
    KvPair next = Next(operation, key);
    next.session.clear();
    Put(key, std::move(next));
  }

  void Get(const KvOperation& operation) {
    const Final& key = Touch(operation.key);
    if (!key.pair) return Refuse("key", operation, " doesn't exist");
    Answer(*key.pair, true);
  }

  void GetOrEmpty(const KvOperation& operation) {
    const Final& key = Touch(operation.key);
    Answer(key.pair.value_or(KvPair{.key = operation.key}), true);
  }

  void GetTree(const std::string& prefix) {
    outcome_.read_trees.push_back(prefix);
    std::map<std::string, KvPair> pairs;
    if (const auto tree = base_.trees.find(prefix); tree != base_.trees.end()) {
      for (const KvPair& pair : tree->second.pairs) {
        if (!IsInDeadTree(pair.key)) pairs.emplace(pair.key, pair);
      }
    }
    for (auto at = outcome_.keys.lower_bound(prefix);
         at != outcome_.keys.end() && at->first.starts_with(prefix); ++at) {
      if (at->second.pair)
        pairs[at->first] = *at->second.pair;
      else
        pairs.erase(at->first);
    }
    for (auto& [key, pair] : pairs) Answer(std::move(pair), true);
  }

  void CheckIndex(const KvOperation& operation) {
    const Final& key = Touch(operation.key);
    if (!key.pair) return Refuse("failed to check index, key", operation, " doesn't exist");
    if (!IsIndexOf(*key.pair, operation.index)) {
      const std::int64_t now =
          key.pair->mod_revision == kThisRevision ? base_.revision + 1 : key.pair->mod_revision;
      return Refuse("failed index check for key", operation,
                    ", current modify index " + std::to_string(now) +
                        " != " + std::to_string(operation.index));
    }
    Answer(*key.pair, false);
  }

  void CheckSession(const KvOperation& operation) {
    const Final& key = Touch(operation.key);
    if (!key.pair) return Refuse("failed to check session, key", operation, " doesn't exist");
    const std::string now = IsAlive(key.pair->session) ? key.pair->session : std::string();
    if (now != operation.session)
      return Refuse("failed session check for key", operation,
                    ", current session " + GoQuote(now) + " != " + GoQuote(operation.session));
    if (!now.empty()) outcome_.needed_sessions.insert(now);
    Answer(*key.pair, false);
  }

  void CheckNotExists(const KvOperation& operation) {
    const Final& key = Touch(operation.key);
    if (key.pair) return Refuse("key", operation, " exists");
    Answer({.key = operation.key}, false);
  }

  void Delete(const std::string& name) {
    Final& key = Touch(name);
    if (!key.pair) return;
    key.pair.reset();
    key.is_changed = true;
  }

  void DeleteCas(const KvOperation& operation) {
    const Final& key = Touch(operation.key);
    if (key.pair && !IsIndexOf(*key.pair, operation.index))
      return Refuse("failed to delete key", operation, ", index is stale");
    Delete(operation.key);
  }

  void DeleteTree(const std::string& prefix) {
    for (auto at = outcome_.keys.lower_bound(prefix);
         at != outcome_.keys.end() && at->first.starts_with(prefix); ++at) {
      at->second.pair.reset();
      at->second.is_changed = true;
      at->second.is_in_dead_tree = true;
    }
    if (IsInDeadTree(prefix)) return;
    std::erase_if(outcome_.dead_trees,
                  [&](const std::string& tree) { return tree.starts_with(prefix); });
    outcome_.dead_trees.push_back(prefix);
  }

  const KvBase& base_;
  KvOutcome outcome_;
  std::size_t at_ = 0;
};

}  // namespace

KvVerb KvVerbOf(std::string_view name) {
  const auto found = std::ranges::find(kVerbs, name, &Row::name);
  return found == kVerbs.end() ? KvVerb::kUnknown : found->verb;
}

bool IsWrite(KvVerb verb) { return RowOf(verb).is_write; }
bool IsTree(KvVerb verb) { return RowOf(verb).is_tree; }

bool KvOutcome::writes() const {
  return !dead_trees.empty() ||
         std::ranges::any_of(keys, [](const auto& key) { return key.second.is_changed; });
}

KvOutcome Evaluate(const std::vector<KvOperation>& operations, const KvBase& base) {
  Evaluation evaluation(base);
  for (std::size_t i = 0; i < operations.size(); ++i) evaluation.Do(i, operations[i]);
  return evaluation.Take();
}

}  // namespace kvorum::consul
