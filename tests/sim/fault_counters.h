// The faults of a run, counted where they took effect, so that a test can prove that it tested
// something.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvorum::sim {

enum class Fault : std::uint8_t {
  kMessageLost,
  kMessageDelayed,
  kMessageDuplicated,
  kMessageReordered,
  kMessagePosted,     // instead of going by a stream
  kPostUnanswered,    // it arrived, and its sender heard that it was lost
  kProposalRepeated,  // one that was forwarded to the leader
  kProposalNotTaken,  // a repeated one that the leader knew
  kChangeForged,      // a joint configuration change in a message that its receiver got
  kSnapshotForged,    // a snapshot of a joint configuration
  kPartition,         // messages stopped by a cut in both directions
  kOneWayPartition,   // messages stopped by a cut in one direction only
  kKill,              // kill -9: written data stays
  kPowerCut,          // unsynced data may be lost
  kPowerCutAtIo,      // at a chosen write operation, in the middle of its operation
  kAllDown,           // every member that was up lost power at once
  kUnsyncedLost,      // sectors, sizes or names that a power cut took
  kTornWrite,         // sectors that a power cut left as garbage
  kGracefulStop,
  kBitRot,
  kBitRotDetected,
  kSlowDisk,
  kBusyLoop,  // of the clients' connections
  kDiskFull,  // writes that found no space
  kIoError,
  kClockJump,
  kClockDrift,
  kPause,
  kCompaction,
  kSnapshotSent,
  kSnapshotCut,
  kSnapshotReceived,
  kSnapshotInstalled,     // a member went on from another one's database
  kCrashWhileReceiving,   // the process ended with a snapshot half received
  kCrashWhileInstalling,  // ended between Raft's decision for a snapshot and its being in place
  kMemberAdded,           // as a voter
  kLearnerAdded,
  kMemberJoined,    // the process of an added member runs
  kMemberReplaced,  // one that took the machine of a member whose disk was lost
  kLearnerPromoted,
  kMemberUpdated,
  kMemberRemoved,
  kRemovedRefused,  // a removed member was started again, and knew it
  kRemovedTold,     // a removed member learnt it from the others
  kChangeRefused,   // of the members
  kDiskLost,
  kDeadForGood,  // in the liveness phase
  kLeaderMoved,
  kAlarmRaised,
  kAlarmDisarmed,
  kCorruptRaised,
  kRefusedAsCorrupt,  // an entry, by that alarm
  kDefragmented,
  kUnknownResult,  // a client that did not learn what became of its write
  // Faults of watchers and leases.
  kWatchResumed,        // a watcher resumed at another process, after its last revision
  kWatchUnread,         // a client did not read a watch call's responses
  kWatchCaughtUp,       // events came from the catch-up
  kWatchSynced,         // and then, after them, as they were published
  kWatchCompacted,      // a watcher heard that the events it needs are compacted
  kWatchUnderSnapshot,  // a snapshot was installed while there were watchers
  kWatchJump,           // a batch of which the hub got no records
  kWatchAwaited,        // a write waited for watchers
  kWatchFuture,         // a start after the newest revision
  kWatchFragment,       // a revision came in fragments
  kWatchFiltered,       // events that the filters kept away
  kWatchPrevious,       // values before an event
  kWatchProgress,       // a requested progress
  kWatchNotified,       // a notified progress
  kWatchCanceled,
  kWatchNoLeader,  // cut, since the client wants a leader and there was none
  kLeaseGranted,
  kLeaseRenewed,
  kLeaseForwarded,  // questions that went to the leader's peer port
  kLeaseTimesTold,  // times to live
  kLeaseStalled,    // a client that stopped to renew for a while
  kLeaseExpired,
  kLeaseRevoked,         // by its client
  kLeaseGoneTold,        // a renewal was answered that there is no such lease
  kLeaseKeysGone,        // several keys went with their lease
  kLeaseOutlivedLeader,  // renewed in another term than before
  kLeaseCheckpointed,
  // Faults of users.
  kAuthEnabled,
  kAuthDisabled,
  kAuthChanged,        // by an entry
  kAuthChangeRefused,  // where it is applied
  kAuthLogin,
  kAuthLoginRefused,
  kAuthAllowed,        // a request with a token was answered
  kAuthDenied,         // and one was not, for lack of permission
  kAuthDeniedInLog,    // an entry, at its place
  kAuthOutdated,       // an entry that was let in by an older state, and goes its way again
  kAuthOfNobody,       // an entry from when auth was off
  kAuthNobodyRefused,  // that had not logged in
  kAuthTokenEnded,     // one that does not count any more was refused
  kAuthTokenUnknown,   // one that this process has never heard of
  kAuthWatchDenied,
  kAuthNested,         // denied because of a branch that is not taken
  kAuthUnderSnapshot,  // a snapshot brought other users
  // Faults of locks and elections.
  kLockGranted,
  kLockWaited,     // granted after somebody else had it
  kLockInherited,  // from one whose lease had ended
  kLockLost,       // its key was deleted while its client waited
  kLockCut,        // a call that ended with its process
  kElected,
  kProclaimed,
  kElectionLost,  // a leader proclaims, and leads no more
  kResigned,
  kLeaderTold,
  kLeaderObserved,
  // Faults of agents and caches.
  kAgentPaused,
  kAgentKilled,
  kAgentLeft,       // its keys are removed at once
  kAgentRefused,    // another one holds its node's name
  kAgentWentOn,     // with the session of its state file
  kAgentAgain,      // a new session after an earlier one of the same agent
  kAgentInherited,  // a new session after another agent's
  kCatalogScribbled,
  kSourceListedAgain,  // it was behind a compaction
  kCacheAsked,         // a consistent read was answered
  kCachePaused,
  kDiskReplaced,  // by an older copy, under the same member
  kDiskWiped,     // likewise, by an empty one
  kStartRefused,  // of a wiped member, while a peer can be asked
  kLossTold,      // such a member was not heard, and learned why
  kLossMadeGood,
  kApplyLent,          // an entry was applied within raft's task
  kCompactionResumed,  // a process began with one that its predecessor had not finished
  kTransferLong,       // a snapshot that arrived after more than 20 s
  kIndexLoaded,  // a process began with a key index that its predecessor saved while it served
  // Faults of archives.
  kBucketOut,         // a call in an outage
  kBucketAnswerLost,  // a write took effect, at once or later, and its caller does not know
  kBucketWriteLate,   // a write took effect after its caller had gone on
  kArchiveGap,
  kArchiveBase,
  kArchivePruned,
  kArchiveRestored,
};
inline constexpr std::array<std::string_view, 136> kFaultNames = {"message-lost",
                                                                  "message-delayed",
                                                                  "message-duplicated",
                                                                  "message-reordered",
                                                                  "message-posted",
                                                                  "post-unanswered",
                                                                  "proposal-repeated",
                                                                  "proposal-not-taken",
                                                                  "change-forged",
                                                                  "snapshot-forged",
                                                                  "partition",
                                                                  "one-way-partition",
                                                                  "kill",
                                                                  "power-cut",
                                                                  "power-cut-at-io",
                                                                  "all-down",
                                                                  "unsynced-lost",
                                                                  "torn-write",
                                                                  "graceful-stop",
                                                                  "bit-rot",
                                                                  "bit-rot-detected",
                                                                  "slow-disk",
                                                                  "busy-loop",
                                                                  "disk-full",
                                                                  "io-error",
                                                                  "clock-jump",
                                                                  "clock-drift",
                                                                  "pause",
                                                                  "compaction",
                                                                  "snapshot-sent",
                                                                  "snapshot-cut",
                                                                  "snapshot-received",
                                                                  "snapshot-installed",
                                                                  "crash-while-receiving",
                                                                  "crash-while-installing",
                                                                  "member-added",
                                                                  "learner-added",
                                                                  "member-joined",
                                                                  "member-replaced",
                                                                  "learner-promoted",
                                                                  "member-updated",
                                                                  "member-removed",
                                                                  "removed-refused",
                                                                  "removed-told",
                                                                  "change-refused",
                                                                  "disk-lost",
                                                                  "dead-for-good",
                                                                  "leader-moved",
                                                                  "alarm-raised",
                                                                  "alarm-disarmed",
                                                                  "corrupt-raised",
                                                                  "refused-corrupt",
                                                                  "defragmented",
                                                                  "unknown-result",
                                                                  "watch-resumed",
                                                                  "watch-unread",
                                                                  "watch-caught-up",
                                                                  "watch-synced",
                                                                  "watch-compacted",
                                                                  "watch-under-snapshot",
                                                                  "watch-jump",
                                                                  "watch-awaited",
                                                                  "watch-future",
                                                                  "watch-fragment",
                                                                  "watch-filtered",
                                                                  "watch-previous",
                                                                  "watch-progress",
                                                                  "watch-notified",
                                                                  "watch-canceled",
                                                                  "watch-no-leader",
                                                                  "lease-granted",
                                                                  "lease-renewed",
                                                                  "lease-forwarded",
                                                                  "lease-times-told",
                                                                  "lease-stalled",
                                                                  "lease-expired",
                                                                  "lease-revoked",
                                                                  "lease-gone-told",
                                                                  "lease-keys-gone",
                                                                  "lease-outlived-leader",
                                                                  "lease-checkpointed",
                                                                  "auth-enabled",
                                                                  "auth-disabled",
                                                                  "auth-changed",
                                                                  "auth-change-refused",
                                                                  "auth-login",
                                                                  "auth-login-refused",
                                                                  "auth-allowed",
                                                                  "auth-denied",
                                                                  "auth-denied-in-log",
                                                                  "auth-outdated",
                                                                  "auth-of-nobody",
                                                                  "auth-nobody-refused",
                                                                  "auth-token-ended",
                                                                  "auth-token-unknown",
                                                                  "auth-watch-denied",
                                                                  "auth-nested",
                                                                  "auth-under-snapshot",
                                                                  "lock-granted",
                                                                  "lock-waited",
                                                                  "lock-inherited",
                                                                  "lock-lost",
                                                                  "lock-cut",
                                                                  "elected",
                                                                  "proclaimed",
                                                                  "election-lost",
                                                                  "resigned",
                                                                  "leader-told",
                                                                  "leader-observed",
                                                                  "agent-paused",
                                                                  "agent-killed",
                                                                  "agent-left",
                                                                  "agent-refused",
                                                                  "agent-went-on",
                                                                  "agent-again",
                                                                  "agent-inherited",
                                                                  "catalog-scribbled",
                                                                  "source-listed-again",
                                                                  "cache-asked",
                                                                  "cache-paused",
                                                                  "disk-replaced",
                                                                  "disk-wiped",
                                                                  "start-refused",
                                                                  "loss-told",
                                                                  "loss-made-good",
                                                                  "apply-lent",
                                                                  "compaction-resumed",
                                                                  "transfer-long",
                                                                  "index-loaded",
                                                                  "bucket-out",
                                                                  "bucket-answer-lost",
                                                                  "bucket-write-late",
                                                                  "archive-gap",
                                                                  "archive-base",
                                                                  "archive-pruned",
                                                                  "archive-restored"};

static_assert(static_cast<std::size_t>(Fault::kArchiveRestored) + 1 == kFaultNames.size());

class FaultCounters {
 public:
  void Add(Fault fault, std::uint64_t times = 1) { counts_[Position(fault)] += times; }
  std::uint64_t operator[](Fault fault) const { return counts_[Position(fault)]; }
  std::uint64_t at(std::size_t position) const { return counts_.at(position); }
  void Merge(const FaultCounters& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }

 private:
  static constexpr std::size_t Position(Fault fault) { return static_cast<std::size_t>(fault); }
  std::array<std::uint64_t, kFaultNames.size()> counts_{};
};

}  // namespace kvorum::sim
