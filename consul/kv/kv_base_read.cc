#include "consul/kv/kv_base_read.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "consul/kv/kv_tree.h"

namespace kvorum::consul {
namespace {

// Reads of one request: their values are 1.5 MiB each at most.
constexpr std::size_t kReadsAtOnce = 32;

class BaseRead : public std::enable_shared_from_this<BaseRead> {
 public:
  BaseRead(std::shared_ptr<sync::Store> store, const KvKeys& keys, const Work& work,
           OnKvBase on_base)
      : store_(std::move(store)), keys_(keys), work_(work), on_base_(std::move(on_base)) {}

  void Begin(const std::vector<KvOperation>& operations) {
    for (const KvOperation& operation : operations) {
      if (operation.verb == KvVerb::kGetTree) trees_.insert(operation.key);
      const bool has_key = !IsTree(operation.verb) && operation.verb != KvVerb::kUnknown;
      if (!has_key || operation.key.empty()) continue;
      if (base_.keys.try_emplace(operation.key).second) {
        Want(What::kValue, operation.key, keys_.Value(operation.key));
        Want(What::kMeta, operation.key, keys_.Meta(operation.key));
      }
      if (operation.verb == KvVerb::kLock && locked_.insert(operation.key).second)
        Want(What::kDelay, operation.key, keys_.Delay(operation.key));
      if (!operation.session.empty()) WantSession(operation.session);
    }
    ReadSome();
  }

 private:
  enum class What : std::uint8_t { kValue, kMeta, kDelay, kSession, kLock };
  struct Wanted {
    What what;
    std::string name;  // of the key, or the session
    std::string key;   // in the store
  };

  void Want(What what, const std::string& name, std::string key) {
    wanted_.push_back({what, name, std::move(key)});
  }
  void WantSession(const std::string& session) {
    if (!IsSessionId(session) || !asked_sessions_.insert(session).second) return;
    Want(What::kSession, session, keys_.registry().Session(session));
  }

  // The first request decides the revision, so that there is always one.
  void ReadSome() {
    if (base_.revision != 0 && next_ == wanted_.size()) return ReadNextTree();
    sync::TxnRequest request;
    const std::size_t end = std::min(next_ + kReadsAtOnce, wanted_.size());
    for (std::size_t i = next_; i < end; ++i) {
      request.then.push_back({.kind = sync::Operation::Kind::kRange,
                              .key = wanted_[i].key,
                              .revision = base_.revision});
    }
    if (request.then.empty())
      request.then.push_back(
          {.kind = sync::Operation::Kind::kRange, .key = keys_.values(), .keys_only = true});
    store_->Txn(
        std::move(request),
        work_.On<sync::TxnAnswer>([self = shared_from_this(), end](Result<sync::TxnAnswer> answer) {
          self->TakeSome(end, std::move(answer));
        }));
  }

  void TakeSome(std::size_t end, Result<sync::TxnAnswer> answer) {
    if (!answer) return on_base_(Fail(answer.error()));
    if (base_.revision == 0) base_.revision = answer->revision;
    if (answer->ranges.size() < end - next_)
      return on_base_(Fail(Code::kInternal, "the store answered less than it was asked"));
    for (std::size_t i = 0; next_ < end; ++next_, ++i) {
      auto& kvs = answer->ranges[i].kvs;
      Take(wanted_[next_], kvs.empty() ? nullptr : &kvs.front());
      if (bytes_ > kMaxAnswerBytes)
        return on_base_(
            Fail(Code::kResourceExhausted,
                 "the transaction reads more than " + std::to_string(kMaxAnswerBytes) + " bytes"));
    }
    ReadSome();
  }

  // By value: more may come to be wanted.
  void Take(Wanted wanted, sync::KeyValue* kv) {
    switch (wanted.what) {
      case What::kValue:
        if (kv == nullptr) return;
        bytes_ += kv->value.size();
        base_.keys[wanted.name].pair = PairOf(wanted.name, std::move(*kv), nullptr);
        return;
      case What::kMeta:
        if (kv != nullptr) TakeMeta(wanted.name, *kv);
        return;
      case What::kDelay:
        base_.keys[wanted.name].is_delayed = kv != nullptr;
        return;
      case What::kSession:
        if (kv != nullptr) TakeSession(wanted.name, *kv);
        return;
      case What::kLock:
        if (kv != nullptr) base_.keys[wanted.name].abandoned = DecodeLock(kv->value);
        return;
    }
  }

  // The value was read before.
  void TakeMeta(const std::string& name, const sync::KeyValue& meta) {
    KvBase::Key& key = base_.keys[name];
    key.has_meta = true;
    if (!key.pair) return;
    sync::KeyValue value{.value = std::move(key.pair->value),
                         .create_revision = key.pair->create_revision,
                         .mod_revision = key.pair->mod_revision};
    key.pair = PairOf(name, std::move(value), &meta);
    const std::string& holder = key.pair->session;
    if (holder.empty()) return;
    WantSession(holder);
    if (locked_.contains(name) && IsSessionId(holder))
      Want(What::kLock, name, keys_.Lock(holder, name));
  }

  void TakeSession(const std::string& id, const sync::KeyValue& kv) {
    // A record that cannot be read is one of somebody's who is still there.
    SessionRecord record =
        DecodeSession(id, kv.value).value_or(SessionRecord{.id = id, .node = {}});
    base_.sessions.insert_or_assign(id, std::move(record));
  }

  void ReadNextTree() {
    if (trees_.empty()) return on_base_(std::move(base_));
    const std::string prefix = *trees_.begin();
    trees_.erase(trees_.begin());
    ReadTree(store_, keys_, work_,
             {.prefix = prefix,
              .revision = base_.revision,
              .max_bytes = kMaxAnswerBytes - std::min(bytes_, kMaxAnswerBytes)},
             [self = shared_from_this(), prefix](Result<Tree> tree) {
               self->TakeTree(prefix, std::move(tree));
             });
  }

  void TakeTree(const std::string& prefix, Result<Tree> tree) {
    if (!tree) return on_base_(Fail(tree.error()));
    for (const KvPair& pair : tree->pairs) {
      bytes_ += AnswerBytes(pair);
      if (!pair.session.empty()) WantSession(pair.session);
    }
    base_.trees[prefix].pairs = std::move(tree->pairs);
    ReadSome();
  }

  const std::shared_ptr<sync::Store> store_;
  const KvKeys& keys_;
  const Work& work_;
  OnKvBase on_base_;
  KvBase base_;
  std::vector<Wanted> wanted_;
  std::size_t next_ = 0;
  std::size_t bytes_ = 0;
  std::set<std::string> trees_;
  std::set<std::string> locked_;  // keys that a lock is asked for
  std::set<std::string> asked_sessions_;
};

}  // namespace

void ReadBase(std::shared_ptr<sync::Store> store, const KvKeys& keys, const Work& work,
              const std::vector<KvOperation>& operations, OnKvBase on_base) {
  std::make_shared<BaseRead>(std::move(store), keys, work, std::move(on_base))->Begin(operations);
}

}  // namespace kvorum::consul
