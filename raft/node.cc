// The calls that go in: creation, proposals, reports, and the way of a message to its handler.
#include "raft/node.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "raft/conf_change.h"

namespace kvorum::raft {

namespace {

// Terms and indexes past this are nonsense: no cluster gets there, and arithmetic on them wraps.
constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::uint64_t>::max() / 2;

// So far ahead of ours a term is nonsense too, but to a member that knows nothing yet: with an
// election each millisecond it would be seven weeks ahead. A forged one would eat up the numbers
// that are left, and all members with it.
constexpr Term kMaxTermLead = Term{1} << 32;

// Names that members give their reads: 8 bytes, as far as we know.
constexpr std::size_t kMaxContextBytes = 64;

std::unexpected<Error> BadRestart(std::string_view why) {
  return Fail(Code::kDataLoss, "raft: restart: " + std::string(why));
}

std::unexpected<Error> BadMessage(const Message& message, std::string_view why) {
  return Fail(Code::kInvalidArgument,
              "raft: refused " + std::string(Name(message.type)) + ": " + std::string(why));
}

Result<void> CheckConfig(const Config& config) {
  const auto refuse = [](std::string_view why) {
    return Fail(Code::kInvalidArgument, "raft: configuration: " + std::string(why));
  };
  if (config.id == kNone) return refuse("a member needs an id");
  if (config.heartbeat_ticks < 1) return refuse("heartbeat_ticks must be positive");
  if (config.election_ticks <= config.heartbeat_ticks ||
      config.election_ticks > std::numeric_limits<int>::max() / 2)
    return refuse("election_ticks must be more than heartbeat_ticks");
  if (config.max_inflight_messages == 0) return refuse("max_inflight_messages must be positive");
  if (config.read_mode == ReadMode::kLease && !config.check_quorum)
    return refuse("lease reads need check_quorum");
  return {};
}

// Entries that follow (index, term) and each other.
bool AreConsecutive(std::span<const Entry> entries, Index index, Term term) {
  for (const Entry& entry : entries) {
    if (entry.index != ++index || entry.term < term) return false;
    term = entry.term;
  }
  return true;
}

Result<void> CheckRestart(const Restart& restart) {
  const Index last_index = restart.snapshot_index + restart.entries.size();
  if (restart.snapshot_index > kMaxNumber || restart.hard_state.term > kMaxNumber)
    return BadRestart("a term or index that cannot be");
  if (!AreConsecutive(restart.entries, restart.snapshot_index, restart.snapshot_term))
    return BadRestart("the entries do not follow the snapshot and each other");
  if (restart.hard_state.commit > last_index)
    return BadRestart("more is committed than the log holds");
  if (restart.applied > last_index) return BadRestart("more is applied than the log holds");
  if (restart.applied < restart.snapshot_index)
    return BadRestart("the log begins behind what is applied");
  return {};
}

}  // namespace

std::string_view Name(Dropped dropped) {
  switch (dropped) {
    case Dropped::kNot:
      return "not dropped";
    case Dropped::kNoLeader:
      return "no leader";
    case Dropped::kTransferring:
      return "leadership is being transferred";
    case Dropped::kNotMember:
      return "not a member";
    case Dropped::kTooMuchPending:
      return "too much pending";
    case Dropped::kConfChangePending:
      return "a configuration change is pending";
  }
  return "unknown";
}

Error ProposalDropped() { return {Code::kUnknown, "raft proposal dropped"}; }

Result<std::unique_ptr<Node>> Node::Create(const Config& config, Restart restart) {
  KV_RETURN_IF_ERROR(CheckConfig(config));
  KV_RETURN_IF_ERROR(CheckRestart(restart));
  KV_TRY(restart.conf_state, CheckConfState(std::move(restart.conf_state)));
  return std::unique_ptr<Node>(new Node(config, std::move(restart)));
}

Node::Node(const Config& config, Restart restart)
    : config_(config),
      rng_(config.seed),
      term_(restart.hard_state.term),
      vote_(restart.hard_state.vote),
      log_(restart.snapshot_index, restart.snapshot_term, std::move(restart.entries)) {
  // A crash may have torn off the hard state behind the entries it was written with. Of the term
  // that they name we heard, and had not voted: a vote would have been durable before them.
  if (log_.last_term() > term_) {
    term_ = log_.last_term();
    vote_ = kNone;
  }
  // The commit index on disk may be old, but what is applied was committed.
  log_.CommitTo(std::max({restart.hard_state.commit, restart.applied, CommittedByConfChanges()}));
  log_.SetApplying(restart.applied);
  log_.SetApplied(restart.applied);
  tracker_.SetConfState(std::move(restart.conf_state), log_.last_index() + 1, ticks_);
  Reset(term_);
  given_hard_state_ = restart.hard_state;
}

// A leader proposes a change of the configuration only when the one before it is applied. So where
// two are in the log the first is committed, even if a crash tore that news off the entries' write:
// without it this member would count votes by a configuration two changes old, and such a majority
// need not meet one of today's.
Index Node::CommittedByConfChanges() const {
  Index last_change = 0;
  for (Index index = log_.last_index(); index > log_.snapshot_index(); --index) {
    if (log_.Range(index, index).front().type == EntryType::kNormal) continue;
    if (last_change != 0) return index;
    last_change = index;
  }
  return 0;
}

void Node::Tick() {
  ++ticks_;
  WatchDisk();
  if (role_ == Role::kLeader) {
    TickLeader();
  } else {
    TickFollower();
  }
}

void Node::Campaign() {
  StartCampaign(config_.pre_vote ? CampaignType::kPreElection : CampaignType::kElection);
}

Result<void> Node::Step(Message message) {
  KV_RETURN_IF_ERROR(CheckMessage(message));
  // The only comparison of terms: whoever comes behind it may take "of our term" for granted (or
  // "of the next one" for pre-votes, or "of none" for requests that members forward to their
  // leader).
  if (!AgreeOnTerm(message)) return {};
  if (message.type == MessageType::kVote || message.type == MessageType::kPreVote) {
    HandleVoteRequest(message);
    return {};
  }
  switch (role_) {
    case Role::kFollower:
      return StepFollower(message);
    case Role::kPreCandidate:
    case Role::kCandidate:
      return StepCandidate(message);
    case Role::kLeader:
      return StepLeader(message);
  }
  return {};
}

// What no correct member sends, whatever happened.
Result<void> Node::CheckMessage(const Message& message) const {
  if (!IsFromPeer(message.type)) return BadMessage(message, "not for members to send");
  const bool is_transfer = message.type == MessageType::kTransferLeader;  // from: the leader to be
  if (message.from == kNone || (message.from == config_.id && !is_transfer))
    return BadMessage(message, "sender");
  if (message.to != kNone && message.to != config_.id) return BadMessage(message, "receiver");
  if (message.term > kMaxNumber || message.index > kMaxNumber)
    return BadMessage(message, "a term or index that cannot be");
  const bool knows_nothing = term_ == 0 && log_.last_index() == 0;
  if (message.term > term_ && message.term - term_ > kMaxTermLead && !knows_nothing)
    return BadMessage(message, "a term too far ahead");
  switch (message.type) {
    case MessageType::kApp:
      if (!AreConsecutive(message.entries, message.index, message.log_term))
        return BadMessage(message, "entries that do not follow each other");
      if (!message.entries.empty() && message.entries.back().term > message.term)
        return BadMessage(message, "an entry of a later term");
      break;
    case MessageType::kSnap: {
      if (message.snapshot == nullptr || message.snapshot->empty())
        return BadMessage(message, "no snapshot");
      const SnapshotMetadata& metadata = message.snapshot->metadata;
      if (metadata.term > message.term || metadata.index > kMaxNumber)
        return BadMessage(message, "a snapshot that cannot be");
      if (metadata.conf_state.voters.empty()) return BadMessage(message, "nobody votes in it");
      KV_RETURN_IF_ERROR(CheckConfState(metadata.conf_state));
      break;
    }
    case MessageType::kReadIndex:
    case MessageType::kReadIndexResp:
      if (message.entries.size() != 1) return BadMessage(message, "no context");
      if (message.entries.front().data.size() > kMaxContextBytes)
        return BadMessage(message, "a context that is too long");
      if (message.type == MessageType::kReadIndex) return {};
      break;
    case MessageType::kProp:
      if (message.entries.empty()) return BadMessage(message, "no entries");
      return {};
    case MessageType::kTransferLeader:
      return {};
    default:
      break;
  }
  if (message.term == 0) return BadMessage(message, "no term");
  return {};
}

// Compares the message's term with ours, follows a later one, and says whether there is anything
// left to do (paper, section 5.1).
bool Node::AgreeOnTerm(const Message& message) {
  if (message.type == MessageType::kProp || message.type == MessageType::kReadIndex ||
      message.term == 0)
    return true;  // requests, of no term
  if (message.term == term_) return true;
  if (message.term < term_) {
    RefuseOldTerm(message);
    return false;
  }
  const auto follow = [&](MemberId leader) {
    BecomeFollower(message.term, leader);
    return true;
  };
  switch (message.type) {
    case MessageType::kVote:
    case MessageType::kPreVote: {
      // While a leader is alive nobody can disturb it, unless it asked for that itself (thesis,
      // sections 4.2.3 and 6.4.1).
      const bool is_transfer = message.context.view() == kTransferContext;
      if (IsInLease() && !is_transfer) {
        Happened(EventType::kVoteIgnored, message.from, message.index);
        return false;
      }
      // A pre-vote asks about a term that may never begin.
      return message.type == MessageType::kPreVote || follow(kNone);
    }
    case MessageType::kPreVoteResp:
      // An agreement carries the term that was asked about, a refusal that of the refuser.
      return !message.reject || (tracker_.IsMember(message.from) && follow(kNone));
    case MessageType::kApp:
    case MessageType::kSnap:
    case MessageType::kHeartbeat:
      return follow(message.from);
    case MessageType::kAppResp:
    case MessageType::kHeartbeatResp:
    case MessageType::kVoteResp:
      // Only members are asked anything. One who was removed, and stands for election all the time,
      // does not disturb us by its answers.
      return tracker_.IsMember(message.from) && follow(kNone);
    default:
      return follow(kNone);
  }
}

void Node::RefuseOldTerm(const Message& message) {
  switch (message.type) {
    case MessageType::kApp:
    case MessageType::kHeartbeat:
      // A leader that was cut off and does not hear of our later term otherwise: with check-quorum
      // we would not depose it by our own campaign, and with pre-vote we do not start one.
      Send({.type = MessageType::kAppResp, .to = message.from});
      break;
    case MessageType::kPreVote:
      Send({.type = MessageType::kPreVoteResp, .reject = true, .to = message.from});
      break;
    default:
      break;
  }
  Happened(EventType::kTermIgnored, message.from, message.index);
}

Result<void> Node::StepFollower(Message& message) {
  switch (message.type) {
    case MessageType::kApp:
    case MessageType::kHeartbeat:
    case MessageType::kSnap:
      return StepFromLeader(message);
    case MessageType::kTimeoutNow:
      if (message.from == leader_ || message.from == departed_leader_) HandleTimeoutNow(message);
      return {};
    case MessageType::kReadIndexResp:
      if (message.from != leader_) return {};
      if (message.entries.front().data.size() != sizeof(std::uint64_t))
        return BadMessage(message, "a context that is not ours");
      read_states_.push_back(
          {.context = DecodeContext(message.entries.front().data), .index = message.index});
      return {};
    case MessageType::kTransferLeader:
      TransferLeadership(message.from);
      return {};
    default:
      // Requests to a leader that we are no longer, answers to questions of an earlier role.
      return {};
  }
}

Result<void> Node::StepCandidate(Message& message) {
  switch (message.type) {
    case MessageType::kApp:
    case MessageType::kHeartbeat:
    case MessageType::kSnap:
      // Somebody else won this term, or leads it still.
      if (message.from != departed_leader_) BecomeFollower(term_, message.from);
      return StepFromLeader(message);
    case MessageType::kVoteResp:
      if (role_ == Role::kCandidate) CountVote(message.from, !message.reject);
      return {};
    case MessageType::kPreVoteResp:
      if (role_ == Role::kPreCandidate && (message.reject || message.term == term_ + 1))
        CountVote(message.from, !message.reject);
      return {};
    default:
      return {};
  }
}

Result<void> Node::StepFromLeader(Message& message) {
  if (leader_ != kNone && leader_ != message.from)
    return BadMessage(message, "a second leader in one term");
  const bool departs = message.from == departed_leader_;
  if (!departs) {
    election_elapsed_ = 0;
    leader_heard_at_ = ticks_;
  }
  if (leader_ == kNone && !departs) {
    leader_ = message.from;
    Happened(EventType::kBecameFollower, leader_);
  }
  if (message.type == MessageType::kApp) return HandleAppend(message);
  if (message.type == MessageType::kSnap) {
    HandleSnapshot(message);
  } else {
    HandleHeartbeat(message);
  }
  return {};
}

Result<void> Node::StepLeader(Message& message) {
  // Requests of those who are no members any more, or not yet.
  if (!tracker_.IsMember(message.from) &&
      (message.type == MessageType::kProp || message.type == MessageType::kReadIndex))
    return {};
  switch (message.type) {
    case MessageType::kApp:
    case MessageType::kHeartbeat:
    case MessageType::kSnap:
      return BadMessage(message, "a second leader in one term");
    case MessageType::kProp:
      return HandleProposals(message);
    case MessageType::kAppResp:
      return HandleAppendResponse(message);
    case MessageType::kHeartbeatResp:
      HandleHeartbeatResponse(message);
      return {};
    case MessageType::kReadIndex:
      AddRead(message.from, std::move(message.entries.front().data));
      return {};
    case MessageType::kTransferLeader:
      StartTransfer(message.from);
      return {};
    default:
      return {};
  }
}

ProposeResult Node::Propose(std::span<SharedBytes> batch) {
  if (role_ == Role::kLeader) {
    if (const Dropped why = WhyNotPropose(); why != Dropped::kNot) return {.dropped = why};
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!HasRoomFor(batch[i].size())) return {.accepted = i, .dropped = Dropped::kTooMuchPending};
      AppendAsLeader(EntryType::kNormal, std::move(batch[i]));
    }
    return {.accepted = batch.size()};
  }
  if (leader_ == kNone) return {.dropped = Dropped::kNoLeader};
  ForwardProposals(batch);
  return {.accepted = batch.size()};
}

// To the leader, in messages of about the size of an App.
void Node::ForwardProposals(std::span<SharedBytes> batch) {
  while (!batch.empty()) {
    Message message{.type = MessageType::kProp, .to = leader_};
    std::size_t size_bytes = 0;
    while (!batch.empty() && size_bytes < config_.max_append_size_bytes) {
      size_bytes += batch.front().size();
      message.entries.push_back({.data = std::move(batch.front())});
      batch = batch.subspan(1);
    }
    Send(std::move(message));
  }
}

ProposeResult Node::ProposeConfChange(EntryType type, SharedBytes data) {
  const Result<ConfChangeV2> change = DecodeConfChangeEntry(type, data);
  KV_CHECK(change.has_value(), "proposed a configuration change that is none");
  if (role_ == Role::kLeader) {
    if (const Dropped why = WhyNotPropose(); why != Dropped::kNot) return {.dropped = why};
    if (!MayChangeConf(*change)) return {.dropped = Dropped::kConfChangePending};
    if (!HasRoomFor(data.size())) return {.dropped = Dropped::kTooMuchPending};
    AppendAsLeader(type, std::move(data));
    return {.accepted = 1};
  }
  if (leader_ == kNone) return {.dropped = Dropped::kNoLeader};
  Message message{.type = MessageType::kProp, .to = leader_};
  message.entries.push_back({.type = type, .data = std::move(data)});
  Send(std::move(message));
  return {.accepted = 1};
}

Dropped Node::TransferLeadership(MemberId to) {
  if (role_ == Role::kLeader) return StartTransfer(to);
  if (leader_ == kNone) return Dropped::kNoLeader;
  // The sender of this message is not who sent it, but who is to lead.
  Send({.type = MessageType::kTransferLeader, .to = leader_, .from = to});
  return Dropped::kNot;
}

void Node::Persisted(std::uint64_t ready_number) {
  KV_CHECK(ready_number <= ready_number_, "persisted a Ready that was not given out");
  bool has_own_vote = false;
  for (Write& write : writes_.TakeUpTo(ready_number)) {
    log_.SetPersisted(write.last_index);
    std::ranges::move(write.messages, std::back_inserter(messages_));
    has_own_vote |= write.term == term_ && write.vote == config_.id;
  }
  if (snapshot_ready_number_ <= ready_number) snapshot_ready_number_ = 0;
  WatchDisk();
  if (role_ == Role::kLeader) {
    Progress* self = tracker_.Find(config_.id);
    if (self != nullptr && self->Advance(log_.persisted())) MaybeCommit();
  } else if (role_ == Role::kCandidate && has_own_vote) {
    // Not before it is on disk: after a crash this member must not lead the same term twice, with
    // another log.
    CountVote(config_.id, true);
  }
}

void Node::Applied(Index index) {
  // What was given out before a snapshot was restored is applied, and told of, behind that: none of
  // it is in the log any more.
  applying_size_bytes_ -= log_.SetApplied(index);
  if (restored_conf_.has_value() && index >= log_.snapshot_index()) {
    tracker_.SetConfState(*std::exchange(restored_conf_, std::nullopt), log_.last_index() + 1,
                          ticks_);
    ForgetDeparture();
    Happened(EventType::kConfChanged, kNone, index);
  }
  if (pending_conf_index_ <= index) is_leaving_ = false;  // and the configuration says so, if it is
  MaybeLeaveJoint();
  if (campaign_order_ends_ != 0 && UnappliedConfChange() == 0) FollowCampaignOrder();
}

Result<ConfState> Node::ApplyConfChange(const ConfChangeV2& change) {
  KV_TRY(ConfState conf, ApplyChange(tracker_.conf_state(), change));
  // One who lags behind may not know yet that its leader is a voter.
  const bool had_vote = tracker_.IsVoter(leader_);
  tracker_.SetConfState(std::move(conf), std::max<Index>(log_.last_index(), 1), ticks_);
  Happened(EventType::kConfChanged);
  if (role_ == Role::kLeader) {
    MaybeCommit();  // a smaller quorum may have been waited for
    AnswerConfirmedReads();
    if (transferee_ != kNone && !tracker_.IsVoter(transferee_)) AbortTransfer();
    if (!tracker_.IsVoter(config_.id) && transferee_ == kNone) HandOver();
  } else if (had_vote && !tracker_.IsVoter(leader_)) {
    LeaderDeparts();
  } else {
    ForgetDeparture();
  }
  return tracker_.conf_state();
}

void Node::ReportUnreachable(MemberId peer) {
  if (role_ != Role::kLeader) return;
  Progress* progress = tracker_.Find(peer);
  // What was sent optimistically is probably lost.
  if (progress == nullptr || progress->state != ProgressState::kReplicate) return;
  progress->BecomeProbe();
  Happened(EventType::kPeerUnreachable, peer, progress->next);
}

void Node::ReportSnapshot(MemberId peer, bool succeeded) {
  if (role_ != Role::kLeader) return;
  Progress* progress = tracker_.Find(peer);
  if (progress == nullptr || progress->state != ProgressState::kSnapshot) return;
  if (!succeeded) {
    progress->pending_snapshot = 0;
    Happened(EventType::kSnapshotFailed, peer);
  }
  progress->BecomeProbe();
  // Its answer, or that to the next heartbeat, goes on from here: trying at once would only find it
  // still busy, or failing again.
  progress->is_probe_sent = true;
}

void Node::Compact(Index index) {
  log_.Compact(index, config_.catch_up_entries, config_.catch_up_size_bytes);
}

// Adds what every message carries. Those that promise something to a leader or a candidate wait
// until it is on disk (paper, section 5: "updated on stable storage before responding").
void Node::Send(Message message) {
  if (message.from == kNone) message.from = config_.id;
  switch (message.type) {
    case MessageType::kProp:
    case MessageType::kReadIndex:
      break;  // requests, of no term
    default:
      if (message.term == 0) message.term = term_;
  }
  switch (message.type) {
    case MessageType::kAppResp:
    case MessageType::kVoteResp:
    case MessageType::kPreVoteResp:
      writes_.Promise(std::move(message));
      break;
    default:
      messages_.push_back(std::move(message));
  }
}

void Node::Happened(EventType type, MemberId peer, Index index) {
  events_.push_back({.type = type, .term = term_, .peer = peer, .index = index});
}

void Node::CheckInvariants() const {
  log_.CheckInvariants();
  tracker_.CheckInvariants();
  KV_CHECK(term_ >= log_.last_term(), "the log is of a later term than ours");
  KV_CHECK(term_ >= given_hard_state_.term, "the term went back");
  KV_CHECK(term_ > given_hard_state_.term || given_hard_state_.vote == kNone ||
               given_hard_state_.vote == vote_,
           "a vote changed within its term");
  KV_CHECK(log_.committed() >= given_hard_state_.commit, "the commit index went back");
  std::size_t applying_size_bytes = 0;
  for (const Entry& entry : log_.Range(log_.first_unapplied(), log_.applying()))
    applying_size_bytes += SizeBytes(entry);
  KV_CHECK(applying_size_bytes == applying_size_bytes_, "what is being applied is miscounted");
  switch (role_) {
    case Role::kFollower:
      KV_CHECK(leader_ != config_.id, "a follower that leads");
      break;
    case Role::kPreCandidate:
      KV_CHECK(leader_ == kNone, "a pre-candidate with a leader");
      break;
    case Role::kCandidate:
      KV_CHECK(leader_ == kNone && vote_ == config_.id, "a candidate that is not for itself");
      break;
    case Role::kLeader: {
      KV_CHECK(leader_ == config_.id && vote_ == config_.id, "a leader that is not for itself");
      KV_CHECK(given_hard_state_.term == term_ && given_hard_state_.vote == config_.id,
               "a leader whose vote went to no disk");
      KV_CHECK(log_.last_term() == term_, "a leader without an entry of its term");
      std::size_t uncommitted_size_bytes = 0;
      for (const Entry& entry : log_.Range(log_.committed() + 1, log_.last_index()))
        uncommitted_size_bytes += entry.data.size();
      KV_CHECK(uncommitted_size_bytes == uncommitted_size_bytes_, "uncommitted data is miscounted");
      const auto self = tracker_.progress().find(config_.id);
      KV_CHECK(self == tracker_.progress().end() || self->second.match == log_.persisted(),
               "a leader counts for itself what is not on its disk");
      for (const auto& [id, progress] : tracker_.progress())
        KV_CHECK(progress.match <= log_.last_index(), "a follower is ahead of its leader");
      break;
    }
  }
  if (role_ != Role::kLeader) {
    KV_CHECK(reads_.size() == 0 && transferee_ == kNone, "leader's business without a leader");
  }
}

}  // namespace kvorum::raft
