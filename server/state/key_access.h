// Checks what a request may do to keys: the permissions that each of its parts needs, nested ones
// included. The same rules apply when a request enters, when a read is served and when an entry is
// applied.
//
// Errors: those of auth::AuthState. Ok while auth is disabled. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "auth/auth_state.h"
#include "base/api_errors.h"
#include "base/error.h"
#include "lease/lease_record.h"
#include "mvcc/records/requests.h"

namespace kvorum::server {

// Visits the keys of a lease until `visit` returns false; returns whether it visited all. A missing
// lease has none.
using VisitKey = std::function<bool(std::string_view key)>;
using LeaseKeys = std::function<bool(lease::LeaseId id, const VisitKey& visit)>;

// The verdict when the leases of a request have more keys than may be looked at here: the check is
// repeated where it delays no other request. No client gets it.
inline constexpr ApiError kManyLeaseKeys{Code::kResourceExhausted, "many keys of leases to check"};
inline constexpr std::size_t kAllLeaseKeys = std::numeric_limits<std::size_t>::max();

// One object checks one request: the keys of each lease that it names are checked once.
class KeyAccess {
 public:
  // All arguments outlive the checks. The keys of leases are looked at up to this many, then the
  // verdict is kManyLeaseKeys.
  KeyAccess(const auth::AuthState& state, const auth::Identity& identity, const LeaseKeys& keys,
            std::size_t max_lease_keys = kAllLeaseKeys)
      : state_(state), identity_(identity), lease_keys_(keys), lease_keys_left_(max_lease_keys) {}

  Result<void> Check(const mvcc::RangeRequest& request) {
    return state_.CheckRead(identity_, request.key, request.range_end);
  }
  // A lease ends with all its keys: a caller that attaches a key to it must be allowed to write the
  // others.
  Result<void> Check(const mvcc::PutRequest& request);
  Result<void> Check(const mvcc::DeleteRangeRequest& request);
  // Compares read, and both branches are checked: the check must not depend on which one runs.
  Result<void> Check(const mvcc::TxnRequest& request);
  // For revoking a lease, renewing it, and attaching to it.
  Result<void> CheckLease(lease::LeaseId id);

 private:
  Result<void> CheckAll(const std::vector<mvcc::RequestOp>& operations);

  const auth::AuthState& state_;
  const auth::Identity& identity_;
  const LeaseKeys& lease_keys_;
  std::size_t lease_keys_left_;
  std::set<lease::LeaseId> allowed_leases_;
};

}  // namespace kvorum::server
