// The replicated state other than the keys, as stored in the backend's small buckets.
#pragma once

#include <set>

#include "api/alarm.h"
#include "api/member.h"
#include "auth/auth_store.h"
#include "base/error.h"
#include "mvcc/lmdb/backend.h"

namespace kvorum::server {

struct ReplicatedState {
  MembershipView members;
  std::set<Alarm> alarms;
  auth::AuthStore::Content auth;
};

// Errors: kDataLoss for a bucket that no member can have written.
Result<MembershipView> LoadMembership(mvcc::Snapshot& content);
Result<ReplicatedState> LoadReplicatedState(mvcc::Snapshot& content);

}  // namespace kvorum::server
