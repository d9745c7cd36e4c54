#include "sync/delta/held_versions.h"

#include <utility>

namespace kvorum::sync {

std::optional<ContentHash> HeldVersions::Of(const std::string& name) const {
  if (const auto change = changes_.find(name); change != changes_.end()) return change->second;
  if (base_ == nullptr) return std::nullopt;
  const auto item = base_->items.find(name);
  if (item == base_->items.end()) return std::nullopt;
  return item->second.version;
}

void HeldVersions::Set(const std::string& name, std::optional<ContentHash> version) {
  if (!version && (base_ == nullptr || !base_->items.contains(name))) {
    changes_.erase(name);
    return;
  }
  changes_.insert_or_assign(name, version);
}

void HeldVersions::Set(const Changes& changes) {
  for (const auto& [name, version] : changes) Set(name, version);
}

void HeldVersions::Become(TypeSnapshotPtr snapshot) {
  base_ = std::move(snapshot);
  changes_.clear();
}

}  // namespace kvorum::sync
