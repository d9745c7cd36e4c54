#include "api/entries/etcd_patches.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace kvorum::server {
namespace {

struct LowestPatches {
  std::uint32_t minor = 0;
  std::uint32_t decides_txns = 0;
  std::optional<std::uint32_t> keeps_learners;  // none: no patch of this minor version does
};

constexpr LowestPatches kLowestPatches[] = {{4, 44, std::nullopt}, {5, 30, 31}, {6, 11, 12}};
// Every later version does all of it.
constexpr Version kFirstWithAll{.major = 3, .minor = 7, .patch = 0};

const LowestPatches* PatchesOf(Version version) {
  if (version.major != kFirstWithAll.major) return nullptr;
  const auto* const found = std::ranges::find(kLowestPatches, version.minor, &LowestPatches::minor);
  return found == std::ranges::end(kLowestPatches) ? nullptr : found;
}

}  // namespace

bool DecidesTxnsAlike(Version version) {
  if (version >= kFirstWithAll) return true;
  const LowestPatches* const patches = PatchesOf(version);
  return patches != nullptr && version.patch >= patches->decides_txns;
}

std::string LowestThatDecidesTxnsAlike(Version version) {
  const LowestPatches* const patches = PatchesOf(version);
  if (patches == nullptr) return kFirstWithAll.text();
  return Version{.major = version.major, .minor = version.minor, .patch = patches->decides_txns}
      .text();
}

bool KeepsLearners(Version version) {
  if (version >= kFirstWithAll) return true;
  const LowestPatches* const patches = PatchesOf(version);
  return patches != nullptr && patches->keeps_learners.has_value() &&
         version.patch >= *patches->keeps_learners;
}

bool ReadsEntriesAlike(Version cluster_version) { return cluster_version >= kFirstWithAll; }

}  // namespace kvorum::server
