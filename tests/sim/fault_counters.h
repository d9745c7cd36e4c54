// What a run did to its cluster, counted where it took effect, so that a test can prove that it
// tested something.
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
  kPartition,        // messages stopped by a cut in both directions
  kOneWayPartition,  // messages stopped by a cut in one direction only
  kKill,             // kill -9: what was written stays
  kPowerCut,         // what was not synced may be lost
  kPowerCutAtIo,     // at a chosen write operation, in the middle of whatever it belongs to
  kAllDown,          // every member that was up lost power at once
  kUnsyncedLost,     // sectors, sizes or names that a power cut took
  kTornWrite,        // sectors that a power cut left as garbage
  kGracefulStop,
  kBitRot,
  kBitRotDetected,
  kSlowDisk,
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
  kUnknownResult,  // a client that did not learn what became of its write
};
inline constexpr std::array<std::string_view, 44> kFaultNames = {"message-lost",
                                                                 "message-delayed",
                                                                 "message-duplicated",
                                                                 "message-reordered",
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
                                                                 "unknown-result"};

static_assert(static_cast<std::size_t>(Fault::kUnknownResult) + 1 == kFaultNames.size());

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
