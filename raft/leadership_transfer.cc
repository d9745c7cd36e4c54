#include "raft/leadership_transfer.h"

#include <algorithm>
#include <utility>

namespace kvorum::raft {

MemberId LeadershipTransfer::End() { return std::exchange(to_, kNone); }

bool LeadershipTransfer::MayTryWithoutDisk() {
  return !std::exchange(has_tried_without_disk_, true);
}

bool LeadershipTransfer::TakeOrder(std::uint64_t now) {
  return now < std::exchange(order_ends_at_, 0);
}

MemberId BestSuccessor(const Tracker& tracker, MemberId self, const Timers& timers,
                       std::optional<std::span<const MemberId>> among) {
  MemberId successor = kNone;
  std::pair<bool, Index> best;
  for (const MemberId id : tracker.conf_state().voters) {
    if (id == self) continue;
    if (among.has_value() && std::ranges::find(*among, id) == among->end()) continue;
    const Progress& progress = tracker.progress().at(id);
    const bool is_heard = !timers.IsElectionTimeoutSince(progress.heard_at);
    const std::pair<bool, Index> merit(is_heard, progress.match);
    if (successor != kNone && merit <= best) continue;
    successor = id;
    best = merit;
  }
  return successor;
}

}  // namespace kvorum::raft
