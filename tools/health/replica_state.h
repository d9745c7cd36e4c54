// A member's own word on its copy of the keys, for doctor and top.
#pragma once

#include <cstdint>
#include <string_view>

#include "tools/session/member_probe.h"

namespace kvorum::ctl {

enum class ReplicaState : std::uint8_t {
  kGood,         // or it does not say: an etcd
  kDiffers,      // some member's history is another one than the others'
  kDamaged,      // its database lacks or has changed what it wrote, and it serves on
  kQuarantined,  // it serves no keys
};

// From its metrics.
ReplicaState ReplicaStateOf(const MemberReading& reading);

// "quarantined"; empty if nothing is known to be wrong.
std::string_view NameOf(ReplicaState state);

}  // namespace kvorum::ctl
