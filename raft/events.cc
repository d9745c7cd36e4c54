#include "raft/events.h"

namespace kvorum::raft {

std::string_view Name(Role role) {
  switch (role) {
    case Role::kFollower:
      return "follower";
    case Role::kPreCandidate:
      return "pre-candidate";
    case Role::kCandidate:
      return "candidate";
    case Role::kLeader:
      return "leader";
  }
  return "unknown";
}

std::string_view Name(EventType type) {
  switch (type) {
    case EventType::kBecameFollower:
      return "became follower";
    case EventType::kLeaderDeparted:
      return "leader departed";
    case EventType::kBecamePreCandidate:
      return "became pre-candidate";
    case EventType::kBecameCandidate:
      return "became candidate";
    case EventType::kBecameLeader:
      return "became leader";
    case EventType::kCampaignSkipped:
      return "campaign skipped";
    case EventType::kVoteGranted:
      return "vote granted";
    case EventType::kVoteRefused:
      return "vote refused";
    case EventType::kVoteIgnored:
      return "vote ignored";
    case EventType::kPreVoteGranted:
      return "pre-vote granted";
    case EventType::kPreVoteRefused:
      return "pre-vote refused";
    case EventType::kLogTruncated:
      return "log truncated";
    case EventType::kAppendRefused:
      return "append refused";
    case EventType::kAppendRejected:
      return "append rejected";
    case EventType::kSnapshotSent:
      return "snapshot sent";
    case EventType::kSnapshotRestored:
      return "snapshot restored";
    case EventType::kSnapshotIgnored:
      return "snapshot ignored";
    case EventType::kSnapshotFailed:
      return "snapshot failed";
    case EventType::kPeerUnreachable:
      return "peer unreachable";
    case EventType::kCommitBeyondLog:
      return "commit beyond log";
    case EventType::kConfChanged:
      return "configuration changed";
    case EventType::kConfChangeRefused:
      return "configuration change refused";
    case EventType::kQuorumLost:
      return "quorum lost";
    case EventType::kTransferStarted:
      return "transfer started";
    case EventType::kTransferAborted:
      return "transfer aborted";
    case EventType::kTermIgnored:
      return "old term ignored";
    case EventType::kDataLost:
      return "data lost";
    case EventType::kDataMadeGood:
      return "data made good";
    case EventType::kFollowerLostData:
      return "follower lost data";
    case EventType::kFollowerMadeGood:
      return "follower made good";
    case EventType::kDiskStalled:
      return "disk stalled";
    case EventType::kDiskRecovered:
      return "disk recovered";
  }
  return "unknown";
}

}  // namespace kvorum::raft
