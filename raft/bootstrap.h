// The first entries of a new cluster, the same on every member (spec of the membership through the
// log).
#pragma once

#include <span>
#include <vector>

#include "base/shared_bytes.h"
#include "proto/raft_types.h"

namespace kvorum::raft {

struct FirstMember {
  MemberId id = kNone;
  SharedBytes context;  // the member as JSON
};

struct Bootstrap {
  HardState hard_state;
  std::vector<Entry> entries;
};

// One committed AddNode entry per member, in ascending id. Written to the log before the Node is
// created from it as if the member restarted; the driver then applies them like any others.
Bootstrap MakeBootstrap(std::span<const FirstMember> members);

}  // namespace kvorum::raft
