#include "server/replica/drive/event_log.h"

#include "api/member_id.h"
#include "base/log/logging.h"
#include "raft/events.h"

namespace kvorum::server {
namespace {

constexpr Duration kPause = std::chrono::seconds(1);
constexpr std::size_t kMaxRemembered = 256;

// True if a single message of a peer may cause it, again and again. A snapshot that the peer cannot
// take is one: each answer to a heartbeat asks for it anew, and rounds of reads send heartbeats
// too.
bool IsOfOneMessage(raft::EventType type) {
  switch (type) {
    case raft::EventType::kVoteRefused:
    case raft::EventType::kVoteIgnored:
    case raft::EventType::kPreVoteGranted:
    case raft::EventType::kPreVoteRefused:
    case raft::EventType::kAppendRefused:
    case raft::EventType::kAppendRejected:
    case raft::EventType::kSnapshotSent:
    case raft::EventType::kSnapshotFailed:
    case raft::EventType::kSnapshotIgnored:
    case raft::EventType::kCommitBeyondLog:
    case raft::EventType::kConfChangeRefused:
    case raft::EventType::kPeerUnreachable:
    case raft::EventType::kTermIgnored:
      return true;
    case raft::EventType::kBecameFollower:
    case raft::EventType::kLeaderDeparted:
    case raft::EventType::kBecamePreCandidate:
    case raft::EventType::kBecameCandidate:
    case raft::EventType::kBecameLeader:
    case raft::EventType::kCampaignSkipped:
    case raft::EventType::kVoteGranted:
    case raft::EventType::kLogTruncated:
    case raft::EventType::kSnapshotRestored:
    case raft::EventType::kConfChanged:
    case raft::EventType::kQuorumLost:
    case raft::EventType::kTransferStarted:
    case raft::EventType::kTransferAborted:
    case raft::EventType::kDataLost:
    case raft::EventType::kDataMadeGood:
    case raft::EventType::kFollowerLostData:
    case raft::EventType::kFollowerMadeGood:
    case raft::EventType::kDiskStalled:
    case raft::EventType::kDiskRecovered:
      return false;
  }
  return false;
}

// A loss of data is logged for the operator, on each member that finds it.
void WriteLoss(const raft::Event& event) {
  if (event.type == raft::EventType::kDataLost) {
    KV_ERROR(
        "this member lacks data that it had acknowledged: its data directory was replaced, or "
        "brought back from an older copy; it has no vote until a leader has given the data back. "
        "If that takes longer than its size explains, move the leader, or remove this member and "
        "add it anew with an empty directory",
        {"index", event.index}, {"leader", IdText(event.peer)}, {"term", event.term});
  } else if (event.type == raft::EventType::kFollowerLostData) {
    KV_ERROR(
        "a member lacks data that it had acknowledged: its data directory was replaced, or brought "
        "back from an older copy; nothing that it acknowledged counts until it is filled again",
        {"peer", IdText(event.peer)}, {"index", event.index}, {"term", event.term});
  }
}

}  // namespace

void EventLog::Write(const std::vector<raft::Event>& events, TimePoint now) {
  for (const raft::Event& event : events) {
    WriteLoss(event);
    std::uint64_t left_out = 0;
    if (IsOfOneMessage(event.type)) {
      if (last_.size() >= kMaxRemembered) last_.clear();
      const auto [last, is_new] =
          last_.try_emplace({event.type, event.peer}, Last{.at = now, .left_out = 0});
      if (!is_new && now < last->second.at + kPause) {
        ++last->second.left_out;
        ++suppressed_;
        continue;
      }
      left_out = last->second.left_out;
      last->second = {.at = now, .left_out = 0};
    }
    KV_INFO("raft", {"event", raft::Name(event.type)}, {"term", event.term},
            {"peer", IdText(event.peer)}, {"index", event.index}, {"left-out", left_out});
  }
}

}  // namespace kvorum::server
