// Users, roles and permissions in log entries: applies the Auth service's entries, and checks
// whether other entries are allowed.
//
// Used by the apply executor only. Entries are refused exactly as by etcd's members, by the state
// at this place of the log and the caller named in the entry, so that all members agree.
#pragma once

#include <memory>
#include <string_view>

#include "api/entries/entry_kinds.h"
#include "auth/auth_store.h"
#include "base/error.h"
#include "lease/lease_record.h"
#include "server/apply/apply_result.h"
#include "server/apply/committed_request.h"
#include "server/state/auth_states.h"
#include "server/state/key_access.h"

namespace kvorum::auth {
class SimpleTokens;
}  // namespace kvorum::auth
namespace kvorum::mvcc {
class Store;
}  // namespace kvorum::mvcc

namespace kvorum::server {

class Leases;

class AuthApplier {
 public:
  // All arguments outlive this. `tokens` may be null: then no simple tokens are issued.
  AuthApplier(auth::AuthStore& auth, AuthStates& states, mvcc::Store& store, const Leases& leases,
              auth::SimpleTokens* tokens);

  // True if an entry of this kind belongs to the Auth service.
  static constexpr bool Handles(RequestKind kind) {
    return kind >= RequestKind::kAuthEnable && kind <= RequestKind::kRoleRevokePermission;
  }
  // The effect of an entry of this kind: a change by an administrator, or a login.
  template <class Kind>
  Result<ApplyResult::Value> Execute(Kind kind, const CommittedRequest& entry,
                                     const typename Kind::Body& request) {
    KV_RETURN_IF_ERROR(CheckAdmin(entry));
    KV_TRY(const auth::Change change, Change(kind, request));
    return Take(change);
  }
  Result<ApplyResult::Value> Execute(EntryKind<RequestKind::kAuthenticate>,
                                     const CommittedRequest& entry, const LoginEntry& login);

  bool is_enabled() const { return state_->enabled(); }

  // Checks the entry's caller's permission for this request on keys: kErrUserEmpty,
  // kErrAuthOldRevision, kErrPermissionDenied.
  template <class Request>
  Result<void> CheckKeys(const InternalRequest& entry, const Request& request) const {
    if (!state_->enabled()) return {};
    KV_RETURN_IF_ERROR(CheckRevision(entry));
    return KeyAccess(*state_, IdentityOf(entry), lease_keys_).Check(request);
  }
  // Checks whether the caller may end the lease and all attached keys.
  Result<void> CheckRevoke(const InternalRequest& entry, lease::LeaseId id) const;

  // Replaces everything by the content of a snapshot being installed, in two steps: before its
  // state is shown, tokens that it does not know end (called where the snapshot is loaded, while no
  // entries are applied); then it becomes the newest. Its number is the store's side version.
  void EndTokens(const auth::AuthStore::Content& content) const;
  void Install(auth::AuthStore::Content content);

 private:
  Result<auth::Change> Change(EntryKind<RequestKind::kAuthEnable>, EmptyBody) {
    return auth_.Enable();
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kAuthDisable>, EmptyBody) {
    return auth_.Disable();
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kUserAdd>,
                              const UserPasswordRequest& request) {
    return auth_.AddUser(request.name, request.hashed_password, request.no_password);
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kUserDelete>, std::string_view name) {
    return auth_.DeleteUser(name);
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kUserChangePassword>,
                              const UserPasswordRequest& request) {
    return auth_.ChangePassword(request.name, request.hashed_password);
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kUserGrantRole>,
                              const UserRoleRequest& request) {
    return auth_.GrantRole(request.user, request.role);
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kUserRevokeRole>,
                              const UserRoleRequest& request) {
    return auth_.RevokeRole(request.user, request.role);
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kRoleAdd>, std::string_view name) {
    return auth_.AddRole(name);
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kRoleDelete>, std::string_view name) {
    return auth_.DeleteRole(name);
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kRoleGrantPermission>,
                              const GrantPermissionRequest& request) {
    return auth_.GrantPermission(request.role, request.permission ? &*request.permission : nullptr);
  }
  Result<auth::Change> Change(EntryKind<RequestKind::kRoleRevokePermission>,
                              const RevokePermissionRequest& request) {
    return auth_.RevokePermission(request.role, request.key, request.range_end);
  }

  Result<void> CheckAdmin(const InternalRequest& entry) const;
  Result<void> CheckRevision(const InternalRequest& entry) const;
  auth::Identity IdentityOf(const InternalRequest& entry) const {
    return {.username = entry.user, .revision = entry.auth_revision};
  }
  ApplyResult::Value Take(const auth::Change& change);

  auth::AuthStore& auth_;
  AuthStates& states_;
  mvcc::Store& store_;
  auth::SimpleTokens* const tokens_;
  const LeaseKeys lease_keys_;
  std::shared_ptr<const auth::AuthState> state_;  // the newest
};

}  // namespace kvorum::server
