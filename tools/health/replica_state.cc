#include "tools/health/replica_state.h"

namespace kvorum::ctl {

ReplicaState ReplicaStateOf(const MemberReading& reading) {
  if (!reading.metrics) return ReplicaState::kGood;
  const auto is_set = [&](std::string_view name) {
    return reading.metrics->Value(name).value_or(0) == 1;
  };
  if (is_set("kvorum_quarantined")) return ReplicaState::kQuarantined;
  if (is_set("kvorum_database_damaged")) return ReplicaState::kDamaged;
  const auto agreement = reading.metrics->Value("kvorum_replica_hash_agreement");
  return agreement && *agreement == 0 ? ReplicaState::kDiffers : ReplicaState::kGood;
}

std::string_view NameOf(ReplicaState state) {
  switch (state) {
    case ReplicaState::kGood:
      return "";
    case ReplicaState::kDiffers:
      return "differs";
    case ReplicaState::kDamaged:
      return "damaged";
    case ReplicaState::kQuarantined:
      return "quarantined";
  }
  return "";
}

}  // namespace kvorum::ctl
