// One member's Raft: a deterministic state machine. Calls go in, Ready comes out; it does no I/O,
// reads no clock and logs nothing. "The Raft paper" is Ongaro and Ousterhout 2014, "the thesis"
// Ongaro 2014.
//
// Threading: used by the raft executor only. Errors: bad input from a peer is refused with an
// Error, never by a crash; the driver's obligations (the order of Persisted and Applied) are
// checked. Invariants: see CheckInvariants. Units: time passes in ticks.
//
// The driver's loop: make all pending calls; then TakeReady once, hand its parts to the wal, peer
// and apply executors, and report back by Persisted and Applied. Writes are asynchronous: an entry
// counts for the commit here only when Persisted says so, and the leader sends entries to its
// followers while its own disk is still writing them (thesis, section 10.2.1). A member whose
// oldest write is not Persisted within an election time-out does not lead: it transfers leadership,
// or steps down, and does not campaign until the write is done. Heartbeats and their answers wait
// for no write.
//
// Costs: an entry's data is shared, never copied; each entry is copied as a 48-byte value into the
// log, Ready::entries, Ready::committed and each App message. No call is O(log) except Compact
// (amortised).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "proto/raft_types.h"
#include "raft/config.h"
#include "raft/events.h"
#include "raft/leadership_transfer.h"
#include "raft/log.h"
#include "raft/lost_data.h"
#include "raft/pending_conf_change.h"
#include "raft/read_queue.h"
#include "raft/ready.h"
#include "raft/restored_snapshot.h"
#include "raft/timers.h"
#include "raft/tracker.h"
#include "raft/write_queue.h"

namespace kvorum::raft {

// The context of a vote request that the leader itself asked for; part of the wire format.
inline constexpr std::string_view kTransferContext = "CampaignTransfer";

// The reason for dropping a proposal or a read.
enum class Dropped : std::uint8_t {
  kNot = 0,
  kNoLeader,           // no leader to forward it to
  kTransferring,       // a leadership transfer is under way
  kNotMember,          // this leader is removed from the configuration, or is being removed
  kTooMuchPending,     // a bound of Config is reached
  kConfChangePending,  // one configuration change at a time
};

std::string_view Name(Dropped dropped);  // as in "no leader"

// The error that a client gets for a dropped proposal, for any reason.
Error ProposalDropped();

struct ProposeResult {
  std::size_t accepted = 0;         // the number taken from the front of the batch
  Dropped dropped = Dropped::kNot;  // the reason for dropping the others
};

class Node {
 public:
  // Refuses a configuration out of range, and log, hard state, snapshot and applied index that
  // contradict each other (kDataLoss).
  static Result<std::unique_ptr<Node>> Create(const Config& config, Restart restart);

  // --- calls ---
  void Tick();
  // Campaigns now, without waiting for the time-out: for a member that knows it is alone.
  void Campaign();
  // Handles a peer's message. An Error says that it was nonsense; it changed nothing.
  Result<void> Step(Message message);
  // Proposes data for the log. Moves the accepted data from the front of the batch and leaves the
  // rest; a follower forwards the whole batch to its leader, which may still drop it.
  ProposeResult Propose(std::span<SharedBytes> batch);
  // type: kConfChange, or kConfChangeV2 if the Config takes it; data: the encoded change.
  ProposeResult ProposeConfChange(EntryType type, SharedBytes data);
  // Asks for a ReadState with this context, which must be different for each attempt. An attempt
  // during a change of leader gets no answer: ask again when the SoftState shows a leader.
  Dropped ReadIndex(std::uint64_t context);
  // Transfers leadership to a voter. Any member may be asked.
  Dropped TransferLeadership(MemberId to);

  // True if this member leads, and that one has everything up to the index by its own word, which
  // it gave within an election time-out. One that is back without its data has nothing.
  bool HasLately(MemberId id, Index index) const;

  // A follower is to get a snapshot though its log could go on: it is sent no entry from now on,
  // until SendHeldSnapshot or a ReportSnapshot that failed. Returns false unless this member leads
  // and hears from that one. One more entry, applied in between, makes the snapshot newer than all
  // that the follower has.
  bool HoldForSnapshot(MemberId to);
  // True from there on until the report.
  bool IsHeldForSnapshot(MemberId to) const;
  void SendHeldSnapshot(MemberId to);

  // This member has lost entries that it had acknowledged, and does not know which: its directory
  // is another one than before, or an older copy. It has no vote until a leader has given them
  // back.
  void LoseData();
  // The same of another member: as the leader, nothing counts that it has acknowledged so far.
  void FollowerLostData(MemberId from);

  // --- reports ---
  // The writes of all Readys up to this number are durable. Never report late on purpose: the time
  // taken decides whether this member may lead.
  void Persisted(std::uint64_t ready_number);
  // Everything up to this index (of committed entries given out, or of the snapshot) is applied.
  void Applied(Index index);
  // Called for each committed configuration change, in order, before Applied passes it: the
  // configuration from now on. An impossible change is an Error on every member alike and changes
  // nothing. A change that the driver refuses is simply not reported here.
  Result<ConfState> ApplyConfChange(const ConfChangeV2& change);
  // Messages to this member were lost.
  void ReportUnreachable(MemberId peer);
  // The follower took a kSnap, or it failed.
  void ReportSnapshot(MemberId peer, bool succeeded);
  // Entries from this index on can be read from storage, until another call says otherwise, though
  // Compact drops them; 0: none. A follower that gets a snapshot goes on from there, however much
  // is written meanwhile.
  void KeepStored(Index from) { log_.KeepStored(from); }
  // The outcome of a Fetch, whose `from` this is: none if they cannot be read, and then followers
  // that need them get a snapshot.
  void Fetched(MemberId peer, Index from, std::span<const Entry> entries);
  // Everything up to this index is in a durable snapshot or backend: drops older entries except
  // those that Config::catch_up_* keeps.
  void Compact(Index index);

  // --- values out ---
  bool HasReady() const;
  Ready TakeReady();

  MemberId id() const { return config_.id; }
  Term term() const { return term_; }
  Role role() const { return role_; }
  MemberId leader() const { return leader_; }
  // Ticks since this member heard from its leader or, as the leader, from a quorum.
  std::uint64_t ticks_without_leader() const { return timers_.ticks_without_leader(); }
  // The other voter that needs least to lead: heard from within an election time-out, then with
  // most of the log. kNone if there is none, or this member does not lead. `among`: only one of
  // these.
  MemberId BestSuccessor(std::optional<std::span<const MemberId>> among = std::nullopt) const;
  SoftState soft_state() const { return {.leader = leader_, .role = role_}; }
  HardState hard_state() const {
    return {.term = term_, .vote = vote_, .commit = log_.committed()};
  }
  const Log& log() const { return log_; }
  const WriteQueue& writes() const { return writes_; }
  const ConfState& conf_state() const { return tracker_.conf_state(); }
  const Tracker& tracker() const { return tracker_; }
  const LostData& lost_data() const { return lost_data_; }

  // Aborts if the state contradicts itself. O(log).
  void CheckInvariants() const;

 private:
  enum class CampaignType : std::uint8_t { kPreElection, kElection, kTransfer };
  struct Refusal {
    Index index = 0;  // 0: none
    std::uint64_t at = 0;

    friend bool operator==(const Refusal&, const Refusal&) = default;
  };

  Node(const Config& config, Restart restart);

  // node.cc: messages in and out.
  Index CommittedByConfChanges() const;
  bool AgreeOnTerm(const Message& message);
  bool FollowTerm(Term term, MemberId leader);
  void RefuseOldTerm(const Message& message);
  Result<void> Dispatch(Message& message);
  Result<void> StepFromLeader(Message& message);
  void Send(Message message);
  void RecordEvent(EventType type, MemberId peer = kNone, Index index = 0);

  // election.cc: roles, votes, time.
  void Reset(Term term);
  void BecomeFollower(Term term, MemberId leader);
  void BecomePreCandidate();
  void BecomeCandidate();
  void BecomeLeader();
  void StartCampaign(CampaignType type);
  void AskForVotes(CampaignType type);
  void CountVote(MemberId from, bool granted);
  void HandleVoteRequest(const Message& message);
  void HandlePreVoteResponse(const Message& message);
  void TickFollower();
  void ForgetLeader();
  void TickLeader();
  void CheckQuorum();
  bool IsPromotable() const;
  bool IsInLease() const;
  Index UnappliedConfChange() const;

  // transfer.cc: leadership transfer.
  void WatchDisk();
  void StopLeadingWithoutDisk();
  void LeaderDeparts();
  void ForgetDeparture();
  Dropped StartTransfer(MemberId transferee);
  void TransferToSuccessor();
  void SendTimeoutNow(MemberId to);
  void HandleTimeoutNow(const Message& message);
  void FollowCampaignOrder();
  void AbortTransfer();

  // proposals.cc: entries into the leader's log.
  Dropped WhyNotPropose() const;
  bool HasRoomFor(std::size_t size_bytes) const;
  void AppendAsLeader(EntryType type, SharedBytes data);
  void ForwardProposals(std::span<SharedBytes> batch);
  Result<void> HandleProposals(Message& message);
  bool MayChangeConf(const ConfChangeV2& change) const;
  void MaybeLeaveJoint();

  // replication.cc: entries from the leader to the followers.
  void MaybeCommit();
  bool IsWindowFull(const Progress& progress) const;
  bool WantsAppend(const Progress& progress) const;
  bool HasFollowersToSendTo() const;
  void SendWhatFollowersLack();
  void SendAppend(MemberId to, Progress& progress);
  void FetchFor(MemberId to, Progress& progress);
  void SendEntries(MemberId to, Progress& progress, std::span<const Entry> entries);
  void SendSnapshot(MemberId to, Progress& progress);
  void SendHeartbeats(std::uint64_t read_round);
  Result<void> HandleAppendResponse(const Message& message);
  void HandleAppendRejection(const Message& message, Progress& progress);
  void LoseFollowersData(MemberId from, Progress& progress, Index hint);
  void HandleHeartbeatResponse(const Message& message);

  // following.cc: entries from the leader into this member's log.
  Result<void> HandleAppend(const Message& message);
  bool MayRefuse(Index index);
  bool IsFull() const;
  void HandleHeartbeat(const Message& message);
  void RefuseHeartbeat(MemberId leader, Index index);
  Index KnownToMatch() const;
  void HandleSnapshot(const Message& message);
  bool RestoreSnapshot(const std::shared_ptr<const Snapshot>& snapshot);
  bool IsSnapshotPending() const;
  void FindLostData(MemberId leader, Index index);
  void MaybeMakeGood();
  bool IsVoteOnDisk() const;
  bool IsAlone() const;

  // reads.cc: linearizable reads.
  bool VouchesFor(const Message& request) const;
  void HandleReadIndex(Message& message);
  Dropped AddRead(MemberId requester, SharedBytes context);
  Result<void> HandleReadResponse(const Message& message);
  void AnswerRead(const PendingRead& read);
  void ReleasePostponedReads();
  void AnswerConfirmedReads();
  bool HasCommittedInTerm() const;

  const Config config_;
  Term term_;
  MemberId vote_;
  Role role_ = Role::kFollower;
  MemberId leader_ = kNone;
  MemberId departed_leader_ = kNone;  // the leader of this term, since it lost its vote
  Log log_;
  Tracker tracker_;
  Timers timers_;
  LeadershipTransfer transfer_;
  WriteQueue writes_;

  // State of a leader.
  PendingConfChange pending_change_;
  ReadQueue reads_;

  // State of a follower.
  Index acknowledged_ = 0;  // to the leader of this term
  RestoredSnapshot restored_;
  LostData lost_data_;
  Refusal refused_;  // the last append that did not fit, in this term

  // The next Ready, and the state that the last one reported.
  std::vector<Message> messages_;
  std::vector<Fetch> fetches_;
  std::vector<ReadState> read_states_;
  std::vector<Event> events_;
  LastReady last_ready_;
};

}  // namespace kvorum::raft
