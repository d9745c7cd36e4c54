// A caller, as the rules for calls see it.
#pragma once

#include <cstddef>

#include "auth/auth_state.h"
#include "server/state/key_access.h"

namespace kvorum::server {

// Everything is borrowed for one check.
struct Asker {
  const auth::AuthState& state;
  const auth::Identity& identity;
  const LeaseKeys& lease_keys;
  std::size_t max_txn_ops;
  std::size_t max_lease_keys;  // looked at in a check (KeyAccess)
};

}  // namespace kvorum::server
