#include "archive/ship/archive_status.h"

#include <utility>

namespace kvorum::archive {

const char* ShipStateName(ShipState state) {
  switch (state) {
    case ShipState::kStarting:
      return "starting";
    case ShipState::kFollowing:
      return "following";
    case ShipState::kArchiving:
      return "archiving";
    case ShipState::kFailing:
      return "failing";
    case ShipState::kRefused:
      return "refused";
  }
  return "unknown";
}

ArchiveStatus::Values ArchiveStatus::values() const {
  const std::lock_guard lock(mutex_);
  return values_;
}

void ArchiveStatus::Set(Values values) {
  const std::lock_guard lock(mutex_);
  values_ = std::move(values);
}

}  // namespace kvorum::archive
