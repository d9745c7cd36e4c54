// The part of applying log entries that has to do with users, roles and permissions: the Auth
// service's entries, and whether the entries of others may do what they want to.
//
// Used by the apply executor only. Which entries are refused is decided as etcd's members decide
// it, by the state at this place of the log and what the entry says of its caller, so that all
// members agree.
#pragma once

#include <memory>

#include "auth/auth_store.h"
#include "auth/simple_tokens.h"
#include "base/error.h"
#include "mvcc/store.h"
#include "server/apply/apply_result.h"
#include "server/messages/internal_request.h"
#include "server/state/auth_states.h"
#include "server/state/key_access.h"
#include "server/state/leases.h"

namespace kvorum::server {

class AuthApplier {
 public:
  // All of it outlives this. `tokens` may be null: then no simple tokens are given.
  AuthApplier(auth::AuthStore& auth, AuthStates& states, mvcc::Store& store, const Leases& leases,
              auth::SimpleTokens* tokens);

  // Whether an entry of the Auth service is one of these kinds.
  static bool Handles(RequestKind kind);
  Result<ApplyResult::Value> Apply(const InternalRequest& entry, raft::Index index);

  // Whether the entry's caller may do this to keys: kErrUserEmpty, kErrAuthOldRevision,
  // kErrPermissionDenied.
  template <class Request>
  Result<void> CheckKeys(const InternalRequest& entry, const Request& request) const {
    if (!state_->enabled()) return {};
    KV_RETURN_IF_ERROR(CheckRevision(entry));
    return KeyAccess(*state_, IdentityOf(entry), lease_keys_).Check(request);
  }
  // Whether it may end the lease and all that is attached to it.
  Result<void> CheckRevoke(const InternalRequest& entry, lease::LeaseId id) const;

  // The content of a snapshot that is being installed takes the place of all, in two steps: before
  // its state is shown the tokens end that it does not know (called where the snapshot is loaded,
  // while no entries are applied); then it is the newest. Its number is the store's side version.
  void EndTokens(const auth::AuthStore::Content& content) const;
  void Install(auth::AuthStore::Content content);

 private:
  Result<auth::Change> Change(const InternalRequest& entry);
  Result<auth::Change> GrantPermission(const InternalRequest& entry);
  Result<ApplyResult::Value> Login(const InternalRequest& entry, raft::Index index);
  Result<void> CheckRevision(const InternalRequest& entry) const;
  auth::Identity IdentityOf(const InternalRequest& entry) const {
    return {.username = entry.user, .revision = entry.auth_revision};
  }
  void Take(const auth::Change& change);

  auth::AuthStore& auth_;
  AuthStates& states_;
  mvcc::Store& store_;
  auth::SimpleTokens* const tokens_;
  const LeaseKeys lease_keys_;
  std::shared_ptr<const auth::AuthState> state_;  // the newest
};

}  // namespace kvorum::server
