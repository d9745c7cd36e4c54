#include "consul/kv/janitor_lock.h"

#include <algorithm>
#include <utility>

#include "base/rng.h"
#include "consul/kv/follower.h"
#include "consul/kv/work.h"
#include "sync/kernel/jitter.h"
#include "sync/kernel/timer.h"

namespace kvorum::consul {
namespace {

// All candidates hear of an end at once; the first of them ends the others' wish.
constexpr std::chrono::seconds kSpread(1);
// A look at the key although nothing was heard of it.
constexpr std::chrono::seconds kLookInterval(30);

}  // namespace

class JanitorLock::Machine {
 public:
  Machine(sync::Store& store, Executor& executor, JanitorLockOptions options)
      : store_(store),
        options_(std::move(options)),
        rng_(options_.seed != 0 ? options_.seed : EntropySeed()),
        work_(executor, [this](TimePoint now) { return Step(now); }),
        follower_(store, executor,
                  {.key = options_.key,
                   .on_begin = [this](std::int64_t) { Begun(); },
                   .on_events =
                       [this](std::int64_t, const std::vector<sync::Event>& events) {
                         if (!events.empty()) Heard(!events.back().is_delete);
                       },
                   .on_error = options_.on_error,
                   .seed = options_.seed}) {}
  ~Machine() { Stop(); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void Start() { follower_.Start(); }
  void Stop() {
    follower_.Stop();
    work_.Stop();
    // Its key goes with it.
    if (const std::int64_t lease = std::exchange(lease_, 0); lease != 0)
      store_.LeaseRevoke(lease, [](const Result<sync::LeaseAnswer>&) {});
  }

 private:
  // The holder's renewals tell it that it still holds the key.
  void Begun() {
    work_.Post([this] {
      if (!is_held_) TrySoon();
    });
  }

  void Heard(bool is_there) {
    work_.Post([this, is_there] {
      if (is_there == is_held_ && is_there) return;
      if (is_held_) Lose();
      if (is_there)
        try_.Set(now() + kLookInterval + sync::Stagger(rng_, kLookInterval));
      else
        TrySoon();
    });
  }

  TimePoint now() const { return work_.clock().Now(); }
  void TrySoon() { try_.Set(now() + sync::Stagger(rng_, kSpread)); }

  TimePoint Step(TimePoint now) {
    if (is_held_ && now >= valid_until_) Lose();
    if (is_busy_) return is_held_ ? valid_until_ : sync::kNever;
    if (is_held_) {
      if (renew_.TakeDue(now)) Renew(now);
      return std::min(renew_.due(), valid_until_);
    }
    if (try_.TakeDue(now)) Look();
    return try_.due();
  }

  template <class T, class Handle>
  sync::Store::OnAnswer<T> On(Handle handle) {
    is_busy_ = true;
    return work_.On<T>([this, handle = std::move(handle)](Result<T> answer) mutable {
      is_busy_ = false;
      handle(std::move(answer));
    });
  }

  void Failed(const Error& error) {
    if (options_.on_error) options_.on_error(error);
    const TimePoint at = now();
    try_.Set(at + backoff_.Next(at, rng_));
  }

  void Look() {
    store_.Range({.key = options_.key, .count_only = true},
                 On<sync::RangeAnswer>([this](Result<sync::RangeAnswer> answer) {
                   if (!answer) return Failed(answer.error());
                   if (answer->count != 0)
                     return try_.Set(now() + kLookInterval + sync::Stagger(rng_, kLookInterval));
                   Grant();
                 }));
  }

  void Grant() {
    store_.LeaseGrant(options_.ttl.count(),
                      On<sync::LeaseAnswer>([this](Result<sync::LeaseAnswer> answer) {
                        if (!answer) return Failed(answer.error());
                        lease_ = answer->id;
                        Take(now());
                      }));
  }

  void Take(TimePoint begun) {
    sync::TxnRequest request;
    request.compares.push_back(
        {.key = options_.key, .target = sync::Compare::Target::kCreateRevision});
    request.then.push_back({.kind = sync::Operation::Kind::kPut,
                            .key = options_.key,
                            .value = options_.holder,
                            .lease = lease_});
    store_.Txn(std::move(request),
               On<sync::TxnAnswer>([this, begun](Result<sync::TxnAnswer> answer) {
                 if (answer && answer->succeeded) return Hold(begun);
                 Drop();
                 if (!answer) return Failed(answer.error());
                 try_.Set(now() + kLookInterval);
               }));
  }

  void Hold(TimePoint begun) {
    is_held_ = true;
    try_.Clear();
    Renewed(begun);
    options_.on_change(true);
  }

  void Renewed(TimePoint begun) {
    valid_until_ = begun + options_.ttl;
    renew_.Set(begun + Duration(options_.ttl) / 3);
  }

  void Renew(TimePoint begun) {
    store_.LeaseKeepAlive(
        lease_, On<sync::LeaseAnswer>([this, begun](Result<sync::LeaseAnswer> answer) {
          if (!is_held_) return;
          const bool is_gone = answer ? answer->ttl_s <= 0 : answer.error().code == Code::kNotFound;
          if (is_gone) return Lose();
          if (answer) return Renewed(begun);
          renew_.Set(now() + std::chrono::seconds(1));
        }));
  }

  void Lose() {
    is_held_ = false;
    renew_.Clear();
    Drop();
    TrySoon();
    options_.on_change(false);
  }

  void Drop() {
    if (const std::int64_t lease = std::exchange(lease_, 0); lease != 0)
      store_.LeaseRevoke(lease, [](const Result<sync::LeaseAnswer>&) {});
  }

  sync::Store& store_;
  const JanitorLockOptions options_;
  Rng rng_;
  sync::Backoff backoff_;
  std::int64_t lease_ = 0;
  bool is_held_ = false;
  bool is_busy_ = false;  // an answer is awaited
  TimePoint valid_until_;
  sync::Timer try_;
  sync::Timer renew_;
  Work work_;
  Follower follower_;
};

JanitorLock::JanitorLock(sync::Store& store, Executor& executor, JanitorLockOptions options)
    : machine_(std::make_unique<Machine>(store, executor, std::move(options))) {}
JanitorLock::~JanitorLock() = default;

void JanitorLock::Start() { machine_->Start(); }
void JanitorLock::Stop() { machine_->Stop(); }

}  // namespace kvorum::consul
