#include "server/process/feature_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/go_number.h"

namespace kvorum::server {
namespace {

enum class Stage { kAlpha, kBeta, kAllOfAStage };

struct Gate {
  std::string_view name;
  Stage stage;
  bool by_default;
  bool has_effect = false;
};

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";
constexpr std::string_view kLeaseCheckpoint = "LeaseCheckpoint";
constexpr std::string_view kLeaseCheckpointPersist = "LeaseCheckpointPersist";

constexpr Gate kGates[] = {
    {kAllAlpha, Stage::kAllOfAStage, false, true},
    {kAllBeta, Stage::kAllOfAStage, false, true},
    {"CompactHashCheck", Stage::kAlpha, false},
    {"FastLeaseKeepAlive", Stage::kBeta, true},
    {"InitialCorruptCheck", Stage::kAlpha, false},
    {kLeaseCheckpoint, Stage::kAlpha, false, true},
    {kLeaseCheckpointPersist, Stage::kAlpha, false, true},
    {"PriorityRequest", Stage::kAlpha, false},
    {"SetMemberLocalAddr", Stage::kAlpha, false},
    {"StopGRPCServiceOnDefrag", Stage::kAlpha, false},
    {"TxnModeWriteWithSharedBuffer", Stage::kBeta, true},
};

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

using Chosen = std::map<std::string_view, bool>;

bool IsOn(const Chosen& chosen, std::string_view name) {
  if (const auto own = chosen.find(name); own != chosen.end()) return own->second;
  const Gate& gate = *std::ranges::find(kGates, name, &Gate::name);
  const auto all = chosen.find(gate.stage == Stage::kAlpha ? kAllAlpha : kAllBeta);
  return all != chosen.end() ? all->second : gate.by_default;
}

}  // namespace

std::expected<FeatureGates, std::string> ParseFeatureGates(std::string_view text) {
  Chosen chosen;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = Trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (entry.empty()) continue;
    const std::size_t equals = entry.find('=');
    const std::string name(Trim(entry.substr(0, equals)));
    if (equals == std::string_view::npos) return std::unexpected("missing bool value for " + name);
    const std::string value(Trim(entry.substr(equals + 1)));
    const auto on = ParseBool(value);
    if (!on)
      return std::unexpected(
          fmt::format("invalid value of {}={}, err: {}", name, value, on.error().message));
    const auto gate = std::ranges::find(kGates, name, &Gate::name);
    if (gate == std::end(kGates)) return std::unexpected("unrecognized feature gate: " + name);
    chosen[gate->name] = *on;
  }
  FeatureGates gates{.lease_checkpoint = IsOn(chosen, kLeaseCheckpoint),
                     .lease_checkpoint_persist = IsOn(chosen, kLeaseCheckpointPersist)};
  for (const Gate& gate : kGates) {
    if (!gate.has_effect && IsOn(chosen, gate.name) != gate.by_default)
      gates.without_effect.push_back(gate.name);
  }
  return gates;
}

}  // namespace kvorum::server
