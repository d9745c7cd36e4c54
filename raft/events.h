// Events of the state machine, as values: the core logs nothing, its driver logs these and the
// tests print them.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/raft_types.h"

namespace kvorum::raft {

enum class Role : std::uint8_t { kFollower, kPreCandidate, kCandidate, kLeader };

enum class EventType : std::uint8_t {
  kBecameFollower,  // peer: the leader, kNone if unknown
  kLeaderDeparted,  // peer: the leader, which has lost its vote
  kBecamePreCandidate,
  kBecameCandidate,
  kBecameLeader,       // index: of the empty entry that starts the term
  kCampaignSkipped,    // index: a committed configuration change that is not applied yet
  kVoteGranted,        // peer: the candidate; index: its last one
  kVoteRefused,        // peer: the candidate; index: its last one
  kVoteIgnored,        // peer: a candidate that was not answered, since a leader is alive
  kPreVoteGranted,     // peer: the candidate; index: its last one
  kPreVoteRefused,     // peer: the candidate; index: its last one
  kLogTruncated,       // index: the first entry that a new leader's log replaced
  kAppendRefused,      // peer: the leader; index: the missing entry before the append
  kAppendRejected,     // peer: the follower; index: where it is probed next
  kSnapshotSent,       // peer: the follower; index: the snapshot's
  kSnapshotRestored,   // index: the snapshot's
  kSnapshotIgnored,    // index: the snapshot's
  kSnapshotFailed,     // peer: the follower
  kPeerUnreachable,    // peer: a follower that is probed from now on
  kCommitBeyondLog,    // peer: a leader that says more is committed than we have; index: that
  kConfChanged,        // index: the snapshot's, if it came with one
  kConfChangeRefused,  // a proposed configuration change became an empty entry; index: of that
  kQuorumLost,         // the leader stepped down: it did not hear from a quorum for an election
                       // time-out
  kTransferStarted,    // peer: the leader to be
  kTransferAborted,    // peer: the leader that it did not become
  kTermIgnored,        // peer: the sender of a message of an old term
  kDataLost,           // peer: the leader that counts on it, if one said so; index: the last entry
                       // that we acknowledged and lack, as far as we know
  kDataMadeGood,       // index: the last entry by then
  kFollowerLostData,   // peer: the follower; index: the last entry that it had acknowledged
  kFollowerMadeGood,   // peer: the follower; index: the same
  kDiskStalled,        // the oldest write has been pending for an election time-out
  kDiskRecovered,      // the write is done
};

struct Event {
  EventType type;
  Term term = 0;  // this member's term at that moment
  MemberId peer = kNone;
  Index index = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

std::string_view Name(Role role);       // as in "leader"
std::string_view Name(EventType type);  // as in "became leader"

}  // namespace kvorum::raft
