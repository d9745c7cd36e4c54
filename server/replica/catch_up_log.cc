#include "server/replica/catch_up_log.h"

#include <algorithm>

namespace kvorum::server {

void CatchUpLog::Begun(raft::MemberId peer, raft::Index index) {
  needs_[peer] = {.index = index, .until = std::nullopt};
}

void CatchUpLog::Ended(raft::MemberId peer, bool succeeded, TimePoint now) {
  const auto need = needs_.find(peer);
  if (need == needs_.end()) return;
  if (succeeded) {
    need->second.until = now + kInstallTime;
  } else {
    needs_.erase(need);
  }
}

raft::Index CatchUpLog::Bound(raft::Index index, std::size_t log_size_bytes, TimePoint now) {
  std::erase_if(needs_, [&](const auto& item) {
    return item.second.until.has_value() && *item.second.until <= now;
  });
  if (log_size_bytes > kMaxBytes) return index;
  for (const auto& [peer, need] : needs_) index = std::min(index, need.index);
  return index;
}

}  // namespace kvorum::server
