// A caller as the rules for calls judge it.
#pragma once

#include <cstddef>

#include "auth/auth_state.h"
#include "server/state/key_access.h"

namespace kvorum::server {

// All of it is borrowed for one judgement.
struct Asker {
  const auth::AuthState& state;
  const auth::Identity& identity;
  const LeaseKeys& lease_keys;
  std::size_t max_txn_ops;
};

}  // namespace kvorum::server
