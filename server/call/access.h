// Authentication and authorization, between the transport and the services.
//
// Identify finds out who makes a call and stores that in its context (rpc::Caller), where services,
// and requests that they make in the caller's name, find it. Permissions are checked when the
// request enters (admission.h), so that a refused request never becomes a log entry; when a read is
// served, against the permissions that belong to the very state that is read (ReadFor); and when a
// write is applied, against those of its place in the log. The first check may be out of date, so
// it only ever refuses after it has caught up with the cluster.
//
// Threads: thread-safe; AdmitUpToDate is called on the call's loop, and continues there or, for a
// call without one, on any thread. A user who changes a lease must be allowed to write all of its
// keys: where these are more than kLeaseKeysOnLoop, AdmitUpToDate checks them on a reader's thread,
// and continues on the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/auth_state.h"
#include "base/clock.h"
#include "base/error.h"
#include "lease/lease_record.h"
#include "rpc/call/call_context.h"
#include "server/call/asker.h"
#include "server/call/held_view.h"
#include "server/state/auth_states.h"
#include "server/state/key_access.h"

namespace kvorum::auth {
class JwtTokens;
class SimpleTokens;
}  // namespace kvorum::auth

namespace kvorum::server {

class Leases;
class RequestBatcher;

class Access {
 public:
  struct Parts {
    const AuthStates* states = nullptr;
    mvcc::Store* store = nullptr;
    const Leases* leases = nullptr;
    RequestBatcher* batcher = nullptr;
    const Clock* clock = nullptr;
    Executor* readers = nullptr;  // for checks that take too long for a loop
    // At most one of them.
    auth::SimpleTokens* simple_tokens = nullptr;
    const auth::JwtTokens* jwt = nullptr;
    // True: the name in a client's certificate is a user's (--client-cert-auth).
    bool certificates_name_users = false;
    std::size_t max_txn_ops = 0;
    // The number of I/O loops that make calls.
    std::size_t loops = 0;
  };
  explicit Access(const Parts& parts);
  ~Access();

  using Check = std::function<Result<void>(const Asker&)>;
  using Then = std::move_only_function<void(Result<void>)>;
  // The most keys of leases that a check on a loop looks at, which takes less than a millisecond.
  static constexpr std::size_t kLeaseKeysOnLoop = 1000;

  // Identifies the caller and runs the check. A refusal may be out of date, or be for more keys of
  // leases than are looked at here (kManyLeaseKeys): AdmitUpToDate decides.
  template <class CheckFunction>
  Result<void> Admit(rpc::CallContext& call, CheckFunction&& check,
                     std::size_t max_lease_keys = kLeaseKeysOnLoop) const {
    AuthStates::Held kept;
    const AuthStates::Held& newest = Newest(kept);
    const auth::AuthState& state = *newest.state;
    Identify(call, state);
    KV_TRY(const auth::Identity identity, IdentityIn(state, call.caller));
    call.caller.counted_in = newest.changes;
    call.caller.counted_revision = identity.revision;
    return check(AskerOf(state, identity, max_lease_keys));
  }
  // Continues after a refusal by Admit: checks again after everything that the cluster has
  // committed by now, unless that cannot help. `then` gets the verdict, perhaps at once.
  void AdmitUpToDate(std::shared_ptr<rpc::CallContext> call, Check check, Then then) const;

  // True: nothing is checked.
  bool is_off() const { return !parts_.states->may_be_on(); }

  // A view of the store for a read that the caller may make in that very state.
  template <class Request>
  Result<HeldView> ReadFor(const rpc::Caller& caller, const Request& request) const {
    return ViewFor(caller, [&](const auth::AuthState& state, const auth::Identity& identity) {
      return KeyAccess(state, identity, lease_keys_).Check(request);
    });
  }

  // Checks that the caller may read all of these keys.
  Result<void> CheckReadable(const rpc::Caller& caller, const std::vector<std::string>& keys) const;
  // Checks that it may read the keys of all of these leases.
  Result<void> CheckReadable(const rpc::Caller& caller,
                             const std::vector<lease::LeaseId>& leases) const;

  // The caller in the form of a method's rules.
  Asker AskerOf(const auth::AuthState& state, const auth::Identity& identity,
                std::size_t max_lease_keys = kLeaseKeysOnLoop) const {
    return {.state = state,
            .identity = identity,
            .lease_keys = lease_keys_,
            .max_txn_ops = parts_.max_txn_ops,
            .max_lease_keys = max_lease_keys};
  }
  AuthStates::State state() const { return parts_.states->Newest(); }

  // The caller in the form of the state's checks. kErrInvalidAuthToken for one whose token has
  // ended, kErrAuthOldRevision for one whose permissions have changed meanwhile.
  Result<auth::Identity> IdentityIn(const auth::AuthState& state, const rpc::Caller& caller) const;
  // The caller's identity for a log entry proposed now: at once if nothing changed since it was
  // admitted.
  Result<auth::Identity> IdentityNow(const rpc::Caller& caller) const;

 private:
  // An I/O loop's own copies, so that loops do not contend at every request for the reference
  // counts of states and tokens. Used on its thread only.
  struct PerLoop;

  // Null on a thread that is not a loop's.
  PerLoop* Here() const;
  // The newest state, valid until this thread calls again; `kept` must live as long.
  const AuthStates::Held& Newest(AuthStates::Held& kept) const;
  // The view's state, in the same way; null if it is forgotten.
  const auth::AuthState* StateOf(const mvcc::ReadView& view, AuthStates::State& kept) const;

  std::int64_t WallSeconds() const { return parts_.clock->WallSeconds(); }
  void Identify(rpc::CallContext& call, const auth::AuthState& state) const;
  void IdentifyByToken(std::string_view token, const auth::AuthState& state,
                       rpc::Caller& caller) const;
  // Logs etcd's line, but not more often than a log can bear.
  void LogRefusedToken(const rpc::CallContext& call) const;
  using ViewCheck = std::function<Result<void>(const auth::AuthState&, const auth::Identity&)>;
  Result<HeldView> ViewFor(const rpc::Caller& caller, const ViewCheck& check) const;

  const Parts parts_;
  const std::unique_ptr<PerLoop[]> per_loop_;
  const LeaseKeys lease_keys_;
};

}  // namespace kvorum::server
