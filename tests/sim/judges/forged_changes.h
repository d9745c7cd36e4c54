// Joint configuration changes that no member proposes, put between the members' messages: Raft's
// core refuses them at its door (docs/decisions/0018-joint-changes.md), and nothing else happens.
#pragma once

#include <optional>

#include "base/rng.h"
#include "proto/raft_types.h"

namespace kvorum::sim {

// A message like this one that carries such a change: an append whose last entry is one, or, to a
// member that may lead, a forwarded proposal of one. Nothing if the message lends itself to
// neither.
std::optional<raft::Message> WithForgedChange(const raft::Message& message, Rng& rng);

// The snapshot's configuration becomes a joint one, which its receiver would be in and have to
// leave.
raft::Message WithForgedConfiguration(const raft::Message& snapshot, Rng& rng);

}  // namespace kvorum::sim
