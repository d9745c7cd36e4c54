// The calls into a Node: creation, time, and the dispatch of messages to their handlers.
#include "raft/node.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "raft/conf_change.h"
#include "raft/message_check.h"

namespace kvorum::raft {

namespace {

std::unexpected<Error> BadRestart(std::string_view why) {
  return Fail(Code::kDataLoss, "raft: restart: " + std::string(why));
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

Result<void> CheckRestart(const Restart& restart) {
  const Index last_index = restart.snapshot_index + restart.entries.size();
  if (restart.snapshot_index.value() > kMaxNumber || restart.hard_state.term.value() > kMaxNumber)
    return BadRestart("a term or index that cannot be");
  if (!AreConsecutive(restart.entries, restart.snapshot_index, restart.snapshot_term))
    return BadRestart("the entries are not consecutive after the snapshot");
  if (restart.hard_state.commit > last_index)
    return BadRestart("more is committed than the log holds");
  if (restart.applied > last_index) return BadRestart("more is applied than the log holds");
  if (restart.applied < restart.snapshot_index)
    return BadRestart("the log begins behind what is applied");
  return {};
}

// True for messages that only the leader of the message's term sends.
bool IsFromLeader(MessageType type) {
  return type == MessageType::kApp || type == MessageType::kSnap || type == MessageType::kHeartbeat;
}

bool IsVoteRequest(MessageType type) {
  return type == MessageType::kVote || type == MessageType::kPreVote;
}

// Only members' answers count. A removed member that campaigns again and again does not disturb us
// with its answers.
bool IsMembersAnswer(MessageType type) {
  return type == MessageType::kAppResp || type == MessageType::kHeartbeatResp ||
         type == MessageType::kVoteResp || type == MessageType::kPreVoteResp;
}

// True for messages that promise something to a leader or a candidate.
bool IsPromise(MessageType type) {
  return type == MessageType::kAppResp || type == MessageType::kVoteResp ||
         type == MessageType::kPreVoteResp;
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
  if (!config.takes_conf_change_v2 &&
      (HasConfChangeV2(restart.entries) || IsJoint(restart.conf_state)))
    return BadRestart("a joint configuration change, which is not supported");
  return std::unique_ptr<Node>(new Node(config, std::move(restart)));
}

// Raft: paper 5.5
Node::Node(const Config& config, Restart restart)
    : config_(config),
      term_(restart.hard_state.term),
      vote_(restart.hard_state.vote),
      log_(restart.snapshot_index, restart.snapshot_term, std::move(restart.entries)),
      timers_(config.seed, config.election_ticks, config.heartbeat_ticks),
      lost_data_(restart.lost_data) {
  // A crash may have torn off the hard state after the entries it was written with. We knew the
  // term of those entries, and had not voted in it: a vote would have been durable before them.
  if (log_.last_term() > term_) {
    term_ = log_.last_term();
    vote_ = kNone;
  }
  // The commit index on disk may be old, but applied entries were committed.
  log_.CommitTo(std::max({restart.hard_state.commit, restart.applied, CommittedByConfChanges()}));
  log_.SetApplying(restart.applied);
  log_.SetApplied(restart.applied);
  tracker_.SetConfState(std::move(restart.conf_state), log_.last_index() + 1, timers_.now());
  Reset(term_);
  last_ready_.hard_state = restart.hard_state;
}

// A leader proposes a configuration change only when the previous one is applied. So where the log
// holds two, the first is committed, even if a crash tore that news off the entries' write. Without
// this rule the member would count votes by a configuration two changes old, and such a majority
// need not overlap with one of today's.
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
  timers_.Advance();
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
  KV_RETURN_IF_ERROR(CheckMessage(message, {.id = config_.id,
                                            .term = term_,
                                            .knows_nothing = term_ == 0 && log_.last_index() == 0,
                                            .takes_conf_change_v2 = config_.takes_conf_change_v2}));
  // The only comparison of a message's term that drops it: behind it, each message is of our term
  // but three. A request that a member forwards to its leader has none, or that of a member that
  // reads (VouchesFor); a pre-vote and its grant name a later one.
  if (!AgreeOnTerm(message)) return {};
  return Dispatch(message);
}

// Compares the message's term with ours, follows a later one, and returns whether the message is
// still to be handled.
// Raft: paper 5.1; thesis 4.2.3
bool Node::AgreeOnTerm(const Message& message) {
  if (message.type == MessageType::kProp || message.type == MessageType::kReadIndex ||
      message.term == 0)
    return true;  // requests
  if (message.term == term_) return true;
  if (message.term < term_) {
    RefuseOldTerm(message);
    return false;
  }
  if (IsVoteRequest(message.type)) {
    // While a leader is alive no candidate can disturb it, unless the leader asked for the
    // election.
    if (IsInLease() && message.context.view() != kTransferContext) {
      RecordEvent(EventType::kVoteIgnored, message.from, message.index);
      return false;
    }
    // A pre-vote asks about a term that may never begin.
    return message.type == MessageType::kPreVote || FollowTerm(message.term, kNone);
  }
  if (IsMembersAnswer(message.type)) {
    // A granted pre-vote carries the term that was asked about, a refusal that of the refuser.
    if (message.type == MessageType::kPreVoteResp && !message.reject) return true;
    return tracker_.IsMember(message.from) && FollowTerm(message.term, kNone);
  }
  return FollowTerm(message.term, IsFromLeader(message.type) ? message.from : kNone);
}

bool Node::FollowTerm(Term term, MemberId leader) {
  BecomeFollower(term, leader);
  return true;
}

void Node::RefuseOldTerm(const Message& message) {
  if (message.type == MessageType::kApp || message.type == MessageType::kHeartbeat) {
    // The sender is a leader that was cut off and does not learn of our later term otherwise: with
    // check-quorum we would not depose it by our own campaign, and with pre-vote we do not start
    // one.
    Send({.type = MessageType::kAppResp, .to = message.from});
  } else if (message.type == MessageType::kPreVote) {
    Send({.type = MessageType::kPreVoteResp, .reject = true, .to = message.from});
  }
  RecordEvent(EventType::kTermIgnored, message.from, message.index);
}

// Handles each message in the role that it is meant for. In any other role it is a request to a
// leader that we no longer are, or an answer to a request of an earlier role, and is ignored.
Result<void> Node::Dispatch(Message& message) {
  const bool is_leader = role_ == Role::kLeader;
  switch (message.type) {
    case MessageType::kVote:
    case MessageType::kPreVote:
      HandleVoteRequest(message);
      return {};
    case MessageType::kVoteResp:
      if (role_ == Role::kCandidate) CountVote(message.from, !message.reject);
      return {};
    case MessageType::kPreVoteResp:
      HandlePreVoteResponse(message);
      return {};
    case MessageType::kApp:
    case MessageType::kHeartbeat:
    case MessageType::kSnap:
      return StepFromLeader(message);
    case MessageType::kAppResp:
      return is_leader ? HandleAppendResponse(message) : Result<void>();
    case MessageType::kHeartbeatResp:
      if (is_leader) HandleHeartbeatResponse(message);
      return {};
    case MessageType::kProp:
      return is_leader ? HandleProposals(message) : Result<void>();
    case MessageType::kReadIndex:
      // Ignores those that are not members now.
      if (is_leader && tracker_.IsMember(message.from)) HandleReadIndex(message);
      return {};
    case MessageType::kReadIndexResp:
      return HandleReadResponse(message);
    case MessageType::kTransferLeader:
      if (is_leader || role_ == Role::kFollower) TransferLeadership(message.from);
      return {};
    case MessageType::kTimeoutNow:
      HandleTimeoutNow(message);
      return {};
    case MessageType::kHup:
    case MessageType::kBeat:
    case MessageType::kUnreachable:
    case MessageType::kSnapStatus:
    case MessageType::kCheckQuorum:
    case MessageType::kStorageAppend:
    case MessageType::kStorageAppendResp:
    case MessageType::kStorageApply:
    case MessageType::kStorageApplyResp:
    case MessageType::kForgetLeader:
      break;  // CheckMessage has refused them
  }
  return {};
}

Result<void> Node::StepFromLeader(Message& message) {
  if (role_ == Role::kLeader) return BadMessage(message, "a second leader in one term");
  const bool departs = message.from == departed_leader_;
  // Another member won this term, or still leads it.
  if (role_ != Role::kFollower && !departs) BecomeFollower(term_, message.from);
  if (leader_ != kNone && leader_ != message.from)
    return BadMessage(message, "a second leader in one term");
  if (!departs) {
    timers_.RestartElection();
    timers_.HeardOfLeader();
  }
  if (leader_ == kNone && !departs) {
    leader_ = message.from;
    RecordEvent(EventType::kBecameFollower, leader_);
  }
  // The lost disk may have held a vote in this term. It went to this leader, or to somebody who has
  // not won: with the leader's name in its place it cannot be given twice.
  if (lost_data_.stands() && vote_ == kNone) vote_ = message.from;
  if (message.type == MessageType::kApp) return HandleAppend(message);
  if (message.type == MessageType::kSnap) {
    HandleSnapshot(message);
  } else {
    HandleHeartbeat(message);
  }
  return {};
}

// Adds the fields that every message has. Promises wait until they are on disk (paper, section 5:
// "updated on stable storage before responding").
//
// An answer carries the term in which it is given, not that of the request. So an answer that comes
// when its receiver is in a later term is dropped by AgreeOnTerm and never counts there, and one
// from a later term tells the receiver that its role is over. The one exception is a granted
// pre-vote (HandleVoteRequest).
// Raft: thesis 3.8
void Node::Send(Message message) {
  if (message.from == kNone) message.from = config_.id;
  const bool has_term =
      message.type != MessageType::kProp && message.type != MessageType::kReadIndex;
  if (has_term && message.term == 0) message.term = term_;
  if (IsPromise(message.type)) {
    writes_.Promise(std::move(message));
  } else {
    messages_.push_back(std::move(message));
  }
}

void Node::RecordEvent(EventType type, MemberId peer, Index index) {
  events_.push_back({.type = type, .term = term_, .peer = peer, .index = index});
}

}  // namespace kvorum::raft
