// An agent's hold on its node's name: a lease, kept alive, and the node's key on that lease, which
// is created only if it does not exist. The key's create revision is the session: every write to
// the catalog compares it, so that an agent that lost the name writes nothing more. Somebody who
// writes over the key leaves the session as it is, and the key is put back.
//
// Runs on its owner's loop, like its calls of the owner.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "sync/kernel/jitter.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/timer.h"
#include "sync/store/store.h"

namespace kvorum::sync {

// The API's bound, which fits a Duration.
inline constexpr std::int64_t kMaxTtl_s = 9'000'000'000;

struct AgentSessionOptions {
  std::string key;    // the node's
  std::string node;   // its name, for texts
  std::string value;  // of the key
  // Written and restored together with the key, on the same lease; empty: there is none.
  std::string life_key = {};
  std::int64_t ttl_s = 30;
  BackoffOptions backoff = {};
};

class AgentSession {
 public:
  using OnDone = std::move_only_function<void(Result<void>)>;

  // The store and the clock outlive the session.
  AgentSession(Store& store, const Clock& clock, Loop::Handle loop, AgentSessionOptions options,
               std::uint64_t seed);

  // Goes on with the lease and the session of an earlier life, as far as they still live.
  void Adopt(std::int64_t lease, std::int64_t last_revision);
  // Makes sure that we hold the name, as the store says now. kFailedPrecondition: another agent
  // holds it; a lease of ours is revoked then. kNotFound: our lease is gone. One at a time.
  void Ensure(OnDone on_done);
  // A write found another session, or none.
  void Lose() { revision_ = 0; }
  // Gives the name up, with all that hangs on the lease.
  void Revoke(OnDone on_done);

  // Renews the lease when a third of its time to live has passed, an adopted one at once: its
  // remaining time is unknown.
  TimePoint Step(TimePoint now);
  // True once after the store said that the lease is gone.
  bool TakeLeaseLost() { return std::exchange(is_lease_lost_, false); }
  // True once when a renewal succeeded after one that failed.
  bool TakeReachableAgain() { return std::exchange(is_reachable_again_, false); }

  std::int64_t lease() const { return lease_; }        // 0: none
  std::int64_t revision() const { return revision_; }  // 0: the name is not held
  // The last session, which the key may still be of although its lease is gone.
  std::int64_t last_revision() const { return last_revision_; }
  bool is_held_by_another() const { return is_held_by_another_; }

 private:
  void LookAtKey();
  void LookAtBoth();
  void Looked(const KeyValue* holder, bool has_life);
  void Found(const KeyValue& holder, bool has_life);
  void Grant();
  void PutKey();
  void KeyWritten(const Result<TxnAnswer>& answer);
  void Hold(std::int64_t revision);
  void Refuse();
  void Finish(Result<void> result);
  void Renew(TimePoint now);
  void Renewed(TimePoint begun, const Result<LeaseAnswer>& answer);
  void RenewIn(TimePoint begun, std::int64_t ttl_s);
  void ForgetLease();

  Store& store_;
  const Clock& clock_;
  const Loop::Handle loop_;
  const AgentSessionOptions options_;
  Rng rng_;
  Backoff backoff_;
  std::int64_t lease_ = 0;
  std::int64_t revision_ = 0;
  std::int64_t last_revision_ = 0;
  std::int64_t seen_revision_ = 0;  // the key's create revision; 0: there is no key
  Duration renew_interval_{0};
  Timer renew_;
  OnDone on_done_;
  bool is_adopted_ = false;              // and it is unknown whether it lives
  bool is_waiting_for_renewal_ = false;  // an Ensure
  bool is_renewing_ = false;
  bool is_unreachable_ = false;
  bool is_lease_lost_ = false;
  bool is_reachable_again_ = false;
  bool is_held_by_another_ = false;
};

}  // namespace kvorum::sync
