// The replicated state beside the keys, as the backend's small buckets hold it.
#pragma once

#include <set>

#include "auth/auth_store.h"
#include "base/error.h"
#include "mvcc/backend.h"
#include "server/messages/alarm.h"
#include "server/messages/member.h"

namespace kvorum::server {

struct ReplicatedState {
  MembershipView members;
  std::set<Alarm> alarms;
  auth::AuthStore::Content auth;
};

// kDataLoss for a bucket that nobody can have written so.
Result<ReplicatedState> LoadReplicatedState(mvcc::Snapshot& content);

}  // namespace kvorum::server
