// What a request may do to keys: the permissions that each of its parts needs, nested ones and all.
// The same rules when a request enters, when a read is served and when an entry is applied.
//
// Errors: those of auth::AuthState. Ok while auth is off.
#pragma once

#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "auth/auth_state.h"
#include "base/error.h"
#include "lease/lease_record.h"
#include "mvcc/requests.h"

namespace kvorum::server {

// Visits the keys of a lease until `visit` says false; whether it never did. A lease that there is
// not has none.
using VisitKey = std::function<bool(std::string_view key)>;
using LeaseKeys = std::function<bool(lease::LeaseId id, const VisitKey& visit)>;

// One object checks one request: of each lease that it names the keys are looked at once.
class KeyAccess {
 public:
  // All of it outlives the checks.
  KeyAccess(const auth::AuthState& state, const auth::Identity& identity, const LeaseKeys& keys)
      : state_(state), identity_(identity), lease_keys_(keys) {}

  Result<void> Check(const mvcc::RangeRequest& request) {
    return state_.CheckRead(identity_, request.key, request.range_end);
  }
  // A lease ends with all its keys: who attaches a key to it must be allowed to write the others.
  Result<void> Check(const mvcc::PutRequest& request);
  Result<void> Check(const mvcc::DeleteRangeRequest& request);
  // Compares read, and both branches are checked: which one runs must not depend on who asks.
  Result<void> Check(const mvcc::TxnRequest& request);
  // To revoke a lease, to renew it, to attach to it.
  Result<void> CheckLease(lease::LeaseId id);

 private:
  Result<void> CheckAll(const std::vector<mvcc::RequestOp>& operations);

  const auth::AuthState& state_;
  const auth::Identity& identity_;
  const LeaseKeys& lease_keys_;
  std::set<lease::LeaseId> allowed_leases_;
};

}  // namespace kvorum::server
