#include "server/process/settings/feature_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/go_number.h"
#include "base/words.h"

namespace kvorum::server {
namespace {

enum class Stage { kAlpha, kBeta, kAllOfAStage };

struct Gate {
  std::string_view name;
  Stage stage;
  bool by_default;
  bool has_effect = false;
  std::string_view reason = "the feature does not exist";  // for one without effect
};

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";
constexpr std::string_view kCompactHashCheck = "CompactHashCheck";
constexpr std::string_view kInitialCorruptCheck = "InitialCorruptCheck";
constexpr std::string_view kLeaseCheckpoint = "LeaseCheckpoint";
constexpr std::string_view kLeaseCheckpointPersist = "LeaseCheckpointPersist";
constexpr std::string_view kPriorityRequest = "PriorityRequest";
constexpr std::string_view kSetMemberLocalAddr = "SetMemberLocalAddr";
constexpr std::string_view kStopGrpcServiceOnDefrag = "StopGRPCServiceOnDefrag";

constexpr Gate kGates[] = {
    {kAllAlpha, Stage::kAllOfAStage, false, true},
    {kAllBeta, Stage::kAllOfAStage, false, true},
    {kCompactHashCheck, Stage::kAlpha, false, true},
    {"FastLeaseKeepAlive", Stage::kBeta, true, false,
     "a renewal always sees what was committed before it, and so never extends a revoked lease"},
    {kInitialCorruptCheck, Stage::kAlpha, false, true},
    {kLeaseCheckpoint, Stage::kAlpha, false, true},
    {kLeaseCheckpointPersist, Stage::kAlpha, false, true},
    {kPriorityRequest, Stage::kAlpha, false, true},
    {kSetMemberLocalAddr, Stage::kAlpha, false, true},
    {kStopGrpcServiceOnDefrag, Stage::kAlpha, false, true},
    {"TxnModeWriteWithSharedBuffer", Stage::kBeta, true, false,
     "reads take no lock, so that none of their buffers is copied or shared"},
};

using Chosen = std::map<std::string_view, bool>;

bool IsOn(const Chosen& chosen, std::string_view name) {
  if (const auto own = chosen.find(name); own != chosen.end()) return own->second;
  const Gate& gate = *std::ranges::find(kGates, name, &Gate::name);
  const auto all = chosen.find(gate.stage == Stage::kAlpha ? kAllAlpha : kAllBeta);
  return all != chosen.end() ? all->second : gate.by_default;
}

std::string_view StageName(const Gate& gate) {
  const bool is_alpha = gate.stage == Stage::kAlpha || gate.name == kAllAlpha;
  return is_alpha ? "ALPHA" : "BETA";
}

}  // namespace

std::vector<GateDescription> DescribeGates() {
  std::vector<GateDescription> gates;
  for (const Gate& gate : kGates) {
    gates.push_back({.name = gate.name,
                     .stage = StageName(gate),
                     .by_default = gate.by_default,
                     .has_effect = gate.has_effect,
                     .reason = gate.reason});
  }
  return gates;
}

std::expected<FeatureGates, std::string> ParseFeatureGates(std::string_view text) {
  Chosen chosen;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view entry = Trim(part, " ");
    if (entry.empty()) continue;
    const auto [before, after] = Cut(entry, '=');
    const std::string name(Trim(before, " "));
    if (!after.has_value()) return std::unexpected("missing bool value for " + name);
    const std::string value(Trim(*after, " "));
    const auto on = ParseBool(value);
    if (!on)
      return std::unexpected(
          fmt::format("invalid value of {}={}, err: {}", name, value, on.error().message));
    const auto gate = std::ranges::find(kGates, name, &Gate::name);
    if (gate == std::end(kGates)) return std::unexpected("unrecognized feature gate: " + name);
    chosen[gate->name] = *on;
  }
  FeatureGates gates{.compact_hash_check = IsOn(chosen, kCompactHashCheck),
                     .initial_corrupt_check = IsOn(chosen, kInitialCorruptCheck),
                     .lease_checkpoint = IsOn(chosen, kLeaseCheckpoint),
                     .lease_checkpoint_persist = IsOn(chosen, kLeaseCheckpointPersist),
                     .priority_request = IsOn(chosen, kPriorityRequest),
                     .set_member_local_addr = IsOn(chosen, kSetMemberLocalAddr),
                     .stop_grpc_service_on_defrag = IsOn(chosen, kStopGrpcServiceOnDefrag)};
  for (const Gate& gate : kGates) {
    const bool is_on = gate.stage == Stage::kAllOfAStage
                           ? chosen.contains(gate.name) && chosen.at(gate.name)
                           : IsOn(chosen, gate.name);
    gates.all.push_back({.name = gate.name, .stage = StageName(gate), .is_on = is_on});
    if (!gate.has_effect && IsOn(chosen, gate.name) != gate.by_default)
      gates.without_effect.push_back({.name = gate.name, .reason = gate.reason});
  }
  return gates;
}

}  // namespace kvorum::server
