#include "server/replica/drive/catch_up_log.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/failpoint/failpoint.h"
#include "raft/node.h"

namespace kvorum::server {

void CatchUpLog::Begun(raft::MemberId peer, raft::Index index) { needs_[peer] = {.index = index}; }

void CatchUpLog::Ended(raft::MemberId peer, bool succeeded, TimePoint now) {
  const auto need = needs_.find(peer);
  if (need == needs_.end()) return;
  if (succeeded) {
    need->second.has_arrived = true;
    need->second.heard = now;
  } else {
    needs_.erase(need);
  }
}

void CatchUpLog::Update(const raft::Node& node, TimePoint now, std::uint64_t written_bytes,
                        bool has_space) {
  if (node.role() != raft::Role::kLeader || !has_space) return needs_.clear();
  KV_FAILPOINT_RETURN("catchUpSegmentsAreFull", text) {
    static_cast<void>(text);
    return needs_.clear();
  }
  for (auto& [peer, need] : needs_) {
    if (need.begun_bytes == 0) need.begun_bytes = std::max<std::uint64_t>(written_bytes, 1);
  }
  for (auto need = needs_.begin(); need != needs_.end();) {
    const bool is_over = written_bytes > need->second.begun_bytes + limits_.max_stored_bytes ||
                         (need->second.has_arrived && IsOver(need->second, need->first, node, now));
    need = is_over ? needs_.erase(need) : std::next(need);
  }
}

// While the follower installs the snapshot it answers heartbeats and has no entry yet.
bool CatchUpLog::IsOver(Need& need, raft::MemberId peer, const raft::Node& node, TimePoint now) {
  const auto found = node.tracker().progress().find(peer);
  if (found == node.tracker().progress().end()) return true;
  const raft::Progress& progress = found->second;
  if (progress.is_active) need.heard = now;
  if (now > need.heard + kSilence) return true;
  if (progress.match < need.index) return false;
  need.index = progress.match;
  if (need.goal != 0 && now < need.goal_at + kKeepsUp) return false;
  const bool keeps_up = need.goal != 0 && progress.match >= need.goal;
  need.goal = node.log().last_index();
  need.goal_at = now;
  return keeps_up;
}

raft::Index CatchUpLog::Needed() const {
  raft::Index least = 0;
  for (const auto& [peer, need] : needs_)
    least = least == 0 ? need.index : std::min(least, need.index);
  return least;
}

raft::Index CatchUpLog::Bound(raft::Index index, std::size_t log_size_bytes) const {
  const raft::Index needed = Needed();
  if (needed == 0 || log_size_bytes > limits_.max_memory_bytes) return index;
  KV_FAILPOINT_RETURN("catchUpMemoryIsFull", text) {
    static_cast<void>(text);
    return index;
  }
  return std::min(index, needed);
}

}  // namespace kvorum::server
