// One Lock or Campaign: takes a place in the queue of a name (queue_requests.h), waits until it is
// the oldest, makes sure that it still holds the place, and answers.
//
// Threads: used on the executor of its call's shard; OnNoLeader on any thread. It owns itself:
// pending operations hold it, and at least the call does.
//
// Waiting costs memory and no thread: two watches, one of its place and one of the next older one.
// So a place that goes wakes only the one behind it, and a waiter that loses its own place (its
// lease is gone) learns it at once.
//
// An answer says: at a moment after the wait this key existed, as it was created here and held by
// its lease, the lease had time left, and no older key existed, so none can come. It does not say
// that this still holds when the client reads it: operations that the lock protects should compare
// the key's creation revision, which never repeats.
//
// A waiter that gives up (the client, or an error) leaves the queue: only this place, not one that
// was created under the same key since.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "lease/lease_record.h"
#include "rpc/call/call_context.h"
#include "server/call/leader_streams.h"
#include "server/locks/local_client.h"
#include "server/locks/place_watch.h"
#include "server/locks/queue_requests.h"
#include "server/locks/waiting_calls.h"

namespace kvorum::server {

// The time to live of the lease that is granted to a caller without one; it is not kept alive.
inline constexpr std::int64_t kSessionTtlSeconds = 60;

class Contender final : public NeedsLeader, public std::enable_shared_from_this<Contender> {
 public:
  enum class Kind : std::uint8_t { kLock, kElection };
  struct Request {
    Kind kind = Kind::kLock;
    std::string_view name;
    lease::LeaseId lease = lease::kNoLease;  // none: one is granted for a minute
    std::string_view value = {};             // for an election
  };
  struct Success {
    ResponseHeader header;
    std::string key;
    std::int64_t created = 0;
    lease::LeaseId lease = lease::kNoLease;
  };
  using Callback = std::move_only_function<void(Result<Success>)>;

  // Refuses the call if too many wait. Both outlive it. The callback runs once, perhaps at once.
  static void Begin(LocalClient& client, WaitingCalls& waiting,
                    std::shared_ptr<rpc::CallContext> call, const Request& request,
                    Callback callback);

  // ---- NeedsLeader ----
  void OnNoLeader() override;

 private:
  Contender(LocalClient& client, WaitingCalls::Place waiting,
            std::shared_ptr<rpc::CallContext> call, const Request& request, Callback callback);

  enum class State : std::uint8_t {
    kAsking,   // a request is pending
    kWaiting,  // for news of the watches
    kLeaving,  // the queue
    kEnded,
  };

  void Start();
  // Handles the answer of a request, unless the call is over by then.
  template <class Value>
  LocalClient::Callback<Value> Then(void (Contender::*next)(Result<Value>));

  void Enter(Result<lease::LeaseId> lease);
  void OnEntered(const Result<LocalTxnAnswer>& answer);
  void ChangeValue(std::string_view value);
  void OnValueChanged(Result<LocalTxnAnswer> answer);
  // Finds the predecessor.
  void Look();
  void OnLooked(Result<LocalRangeAnswer> older);
  void Wait(std::string_view older_key, std::int64_t revision);
  void OnNews(const LocalWatch::News& news);
  // The watch of the waiter's key did not reach back far enough.
  void FindOwnAgain();
  void OnFoundOwn(Result<LocalRangeAnswer> answer);
  // It is the oldest: checks that lease and key still exist.
  void AskLease();
  void OnLease(Result<std::int64_t> ttl_s);
  void AskKey();
  void OnKey(Result<LocalRangeAnswer> answer);
  bool IsOwn(const LocalRangeAnswer& answer) const;

  void Succeed(const ResponseHeader& header);
  // The place is gone.
  void Lose();
  // Leaves the queue, then answers.
  void Fail(Error error);
  // Answers at once, then leaves the queue: the caller no longer waits.
  void GiveUp(Error error);
  void Leave();
  void OnLeft(const Result<LocalTxnAnswer>& answer);
  void Answer(Result<Success> answer);
  void End();

  bool answered() const { return callback_ == nullptr; }
  Error LostError() const;
  QueuePlace place() const { return {.key = key_, .created = created_}; }

  LocalClient& client_;
  std::optional<WaitingCalls::Place> waiting_;
  watch::Shard& shard_;
  std::shared_ptr<rpc::CallContext> call_;  // null at the end
  const Kind kind_;
  Callback callback_;  // null once called
  State state_ = State::kAsking;

  const QueueRange queue_;
  std::string key_;  // empty until the lease is known
  std::string value_;
  lease::LeaseId lease_ = lease::kNoLease;

  bool is_in_queue_ = false;
  std::int64_t created_ = 0;
  ResponseHeader entered_header_;
  std::int64_t seen_revision_ = 0;  // at which the place was last known to exist
  bool has_waited_ = false;
  PlaceWatch watch_;

  std::optional<Error> failure_;  // to be returned when the queue was left
  int leave_attempts_ = 0;
};

}  // namespace kvorum::server
