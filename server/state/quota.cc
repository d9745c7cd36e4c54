#include "server/state/quota.h"

#include "mvcc/store.h"

namespace kvorum::server {

bool Quota::Fits(std::uint64_t cost_bytes) const {
  if (limit_bytes_ == 0 || cost_bytes == 0) return true;
  return store_.SizeBytes() + store_.PendingBytes() + cost_bytes < limit_bytes_;
}

}  // namespace kvorum::server
