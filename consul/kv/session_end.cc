#include "consul/kv/session_end.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/key_range.h"
#include "base/rng.h"
#include "sync/kernel/jitter.h"

namespace kvorum::consul {
namespace {

using sync::Compare;
using sync::Operation;

// A transaction has at most four writes a key, of which values are the large ones.
constexpr std::int64_t kKeysAtOnce = 16;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20U;
constexpr int kEndTries = 16;
constexpr sync::BackoffOptions kEndPauses = {.first = std::chrono::milliseconds(5),
                                             .cap = std::chrono::seconds(1)};

struct Held {
  std::string key;
  HeldLock lock;
  std::int64_t lock_revision = 0;
};

class Clearing : public std::enable_shared_from_this<Clearing> {
 public:
  Clearing(sync::Store& store, const KvKeys& keys, const Work& work, std::string session,
           OnEnded on_ended)
      : store_(store),
        keys_(keys),
        work_(work),
        session_(std::move(session)),
        session_key_(keys.registry().Session(session_)),
        prefix_(keys.LocksOf(session_)),
        on_ended_(std::move(on_ended)) {}

  void ReadLocks() {
    store_.Range({.key = prefix_, .end = PrefixEnd(prefix_), .limit = kKeysAtOnce},
                 On<sync::RangeAnswer>(&Clearing::TakeLocks));
  }

 private:
  template <class T>
  sync::Store::OnAnswer<T> On(void (Clearing::*handle)(T)) {
    return work_.On<T>([self = shared_from_this(), handle](Result<T> answer) {
      if (!answer) return self->Finish(Fail(answer.error()));
      (self.get()->*handle)(*std::move(answer));
    });
  }

  void TakeLocks(sync::RangeAnswer answer) {
    if (answer.kvs.empty()) return Finish({});
    held_.clear();
    sync::TxnRequest request;
    for (const sync::KeyValue& kv : answer.kvs) {
      held_.push_back({.key = kv.key.substr(prefix_.size()),
                       .lock = DecodeLock(kv.value),
                       .lock_revision = kv.mod_revision});
      for (std::string key : {keys_.Value(held_.back().key), keys_.Meta(held_.back().key)})
        request.then.push_back({.kind = Operation::Kind::kRange, .key = std::move(key)});
    }
    request.then.push_back({.kind = Operation::Kind::kRange, .key = session_key_});
    store_.Txn(std::move(request), On<sync::TxnAnswer>(&Clearing::TakeKeys));
  }

  void TakeKeys(sync::TxnAnswer answer) {
    if (answer.ranges.size() != 2 * held_.size() + 1)
      return Finish(Fail(Code::kInternal, "the store answered less than it was asked"));
    if (!answer.ranges.back().kvs.empty())
      return Finish(Fail(Code::kFailedPrecondition, "the session lives"));
    read_ = std::move(answer);
    const bool has_delay =
        std::ranges::any_of(held_, [](const Held& held) { return held.lock.lock_delay_ns > 0; });
    if (!has_delay || delay_lease_ != 0) return Write();
    delay_ = Duration(held_.front().lock.lock_delay_ns);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(delay_);
    store_.LeaseGrant(std::max<std::int64_t>(seconds.count(), 1),
                      On<sync::LeaseAnswer>(&Clearing::TakeLease));
  }

  void TakeLease(sync::LeaseAnswer answer) {
    delay_lease_ = answer.id;
    is_lease_too_long_ = std::chrono::seconds(answer.ttl_s) > delay_;
    Write();
  }

  // One lease for all, since the delay is the session's.
  void Write() {
    sync::TxnRequest request;
    request.compares.push_back({.key = session_key_, .target = Compare::Target::kCreateRevision});
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < held_.size() && bytes < kBytesAtOnce; ++i)
      bytes += Clear(held_[i], read_.ranges[2 * i].kvs, read_.ranges[2 * i + 1].kvs, request);
    store_.Txn(std::move(request), On<sync::TxnAnswer>(&Clearing::Written));
  }

  // The bytes of the value that is written again.
  std::size_t Clear(const Held& held, const std::vector<sync::KeyValue>& values,
                    const std::vector<sync::KeyValue>& metas, sync::TxnRequest& request) const {
    const std::int64_t mod_revision = values.empty() ? 0 : values.front().mod_revision;
    const std::string lock_key = keys_.Lock(session_, held.key);
    request.compares.push_back({.key = keys_.Value(held.key), .number = mod_revision});
    request.compares.push_back({.key = lock_key, .number = held.lock_revision});
    request.then.push_back({.kind = Operation::Kind::kDelete, .key = lock_key});
    if (values.empty() || metas.empty()) return 0;
    const KvPair pair = PairOf(held.key, values.front(), &metas.front());
    if (pair.session != session_) return 0;  // it was deleted, and is another's by now
    if (held.lock.lock_delay_ns > 0)
      request.then.push_back({.kind = Operation::Kind::kPut,
                              .key = keys_.Delay(held.key),
                              .value = session_,
                              .lease = delay_lease_});
    if (held.lock.deletes) {
      request.then.push_back({.kind = Operation::Kind::kDelete, .key = keys_.Value(held.key)});
      request.then.push_back({.kind = Operation::Kind::kDelete, .key = keys_.Meta(held.key)});
      return 0;
    }
    request.then.push_back(
        {.kind = Operation::Kind::kPut, .key = keys_.Value(held.key), .value = pair.value});
    request.then.push_back(
        {.kind = Operation::Kind::kPut,
         .key = keys_.Meta(held.key),
         .value = EncodeMeta({.flags = pair.flags, .lock_index = pair.lock_index})});
    return pair.value.size();
  }

  void Written(sync::TxnAnswer answer) {
    if (answer.succeeded) {
      tries_ = 0;
      return ReadLocks();
    }
    if (++tries_ == kEndTries)
      return Finish(Fail(Code::kAborted, "the keys are written by others all the time"));
    work_.After(pauses_.Next(work_.clock().Now(), rng_),
                [self = shared_from_this()] { self->ReadLocks(); });
  }

  // A store may not grant leases as short as some lock-delays: then the delay is ended by us, and
  // by the lease if we cannot.
  void Finish(Result<void> result) {
    if (delay_lease_ != 0 && is_lease_too_long_)
      work_.After(delay_, [&store = store_, lease = delay_lease_] {
        store.LeaseRevoke(lease, [](const Result<sync::LeaseAnswer>&) {});
      });
    on_ended_(std::move(result));
  }

  sync::Store& store_;
  const KvKeys& keys_;
  const Work& work_;
  const std::string session_;
  const std::string session_key_;
  const std::string prefix_;
  OnEnded on_ended_;
  std::vector<Held> held_;
  sync::TxnAnswer read_;
  Duration delay_{};
  std::int64_t delay_lease_ = 0;
  bool is_lease_too_long_ = false;
  int tries_ = 0;
  sync::Backoff pauses_{kEndPauses};
  Rng rng_{EntropySeed()};
};

}  // namespace

void ClearSession(sync::Store& store, const KvKeys& keys, const Work& work, std::string session,
                  OnEnded on_ended) {
  std::make_shared<Clearing>(store, keys, work, std::move(session), std::move(on_ended))
      ->ReadLocks();
}

}  // namespace kvorum::consul
