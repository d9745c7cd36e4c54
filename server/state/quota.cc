#include "server/state/quota.h"

#include "mvcc/store/store.h"

namespace kvorum::server {

bool Quota::Fits(std::uint64_t cost_bytes) const {
  if (limit_bytes_ == 0 || cost_bytes == 0) return true;
  return UsedBytes() + cost_bytes < limit_bytes_;
}

bool Quota::HasRoomToSpare() const {
  return limit_bytes_ == 0 || UsedBytes() < limit_bytes_ - limit_bytes_ / 10;
}

std::uint64_t Quota::UsedBytes() const { return store_.SizeInUseBytes() + store_.PendingBytes(); }

}  // namespace kvorum::server
