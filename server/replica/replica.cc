#include "server/replica/replica.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/api_errors.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "base/logging.h"
#include "raft/conf_change.h"
#include "server/messages/member_id.h"

namespace kvorum::server {
namespace {

constexpr Duration kRefusalLogPause = std::chrono::minutes(1);
constexpr std::size_t kMaxRefusedSenders = 64;
// How long a member that starts waits for the others to be there, to elect a leader without delay.
constexpr Duration kHurryLimit = std::chrono::seconds(5);
constexpr std::int64_t kLastTicks = 2;

std::size_t SizeBytes(const raft::Message& message) {
  std::size_t size_bytes = sizeof(message) + message.context.size();
  for (const raft::Entry& entry : message.entries) size_bytes += raft::SizeBytes(entry);
  return size_bytes;
}

Error RefusalOf(raft::Dropped dropped) {
  switch (dropped) {
    case raft::Dropped::kTooMuchPending:
      return kErrTooManyRequests.ToError();
    case raft::Dropped::kNot:
    case raft::Dropped::kNoLeader:
    case raft::Dropped::kTransferring:
    case raft::Dropped::kNotMember:
    case raft::Dropped::kConfChangePending:
      break;
  }
  return raft::ProposalDropped();
}

}  // namespace

Replica::Replica(std::unique_ptr<raft::Node> node, LogWriter& log, ApplyLoop& apply,
                 WaitTable& waiters, RequestIdSource& ids, Executor& raft,
                 raft::Index snapshot_index, Options options, Hooks hooks)
    : raft_(raft),
      log_(log),
      apply_(apply),
      waiters_(waiters),
      ids_(ids),
      options_(options),
      hooks_(std::move(hooks)),
      node_(std::move(node)),
      reads_([this] { return AskForReads(); }, options.request_timeout),
      snapshot_index_(snapshot_index) {
  conf_states_.emplace_back(snapshot_index, node_->conf_state());
}

void Replica::Start(Transport& transport) {
  raft_.Post([this, &transport] {
    transport_ = &transport;
    if (options_.hurry_first_election) hurry_until_ = raft_.clock().Now() + kHurryLimit;
    MaybeCampaignAlone();
    ProcessReady();
    ArmTick();
  });
}

void Replica::MaybeCampaignAlone() {
  const raft::ConfState& conf = node_->conf_state();
  const bool alone = conf.voters.size() == 1 && conf.voters.front() == node_->id();
  if (alone && node_->role() == raft::Role::kFollower &&
      node_->log().applied() >= node_->log().committed()) {
    node_->Campaign();
  }
}

// An election time-out has to pass before a follower stands, so that a leader can make itself
// known. Where a majority is connected and none has, all but the last ticks of it are left out,
// once. A leader that is there nevertheless is not disturbed: that is what the pre-vote is for.
void Replica::HurryFirstElection() {
  if (hurry_until_ == TimePoint{}) return;
  const std::vector<raft::MemberId>& voters = node_->conf_state().voters;
  const auto connected = std::ranges::count_if(voters, [this](raft::MemberId id) {
    return id == node_->id() || transport_->ActiveSince(id).has_value();
  });
  const bool is_over = node_->leader() != raft::kNone || node_->role() != raft::Role::kFollower ||
                       raft_.clock().Now() > hurry_until_;
  const bool has_majority = static_cast<std::size_t>(connected) > voters.size() / 2;
  if (!is_over && !has_majority) return;
  hurry_until_ = {};
  if (is_over) return;
  const auto ticks = options_.election_timeout / options_.tick;
  KV_INFO("initialized peer connections; fast-forwarding election ticks",
          {"local-member-id", IdText(node_->id())}, {"forward-ticks", ticks - kLastTicks});
  for (auto tick = kLastTicks; tick < ticks; ++tick) node_->Tick();
}

void Replica::Stop(Task done) {
  raft_.Post([this, done = std::move(done)]() mutable {
    stopped_ = true;
    apply_.Stop();
    for (auto& waiter : waiters_.TakeAll()) {
      if (waiter != nullptr) waiter->Failed(kErrStopped.ToError());
    }
    reads_.FailAll(kErrStopped.ToError());
    leaderless_.clear();
    pending_changes_.clear();
    for (Transfer& transfer : std::exchange(transfers_, {})) transfer.callback(kErrStopped.Fail());
    done();
  });
}

template <class Change>
void Replica::HandOver(Change&& change) {
  {
    std::lock_guard lock(mutex_);
    change(inbox_);
    if (std::exchange(drain_posted_, true)) return;
  }
  raft_.Post([this] { Drain(); });
}

void Replica::Propose(std::vector<Proposal> proposals) {
  std::size_t bytes = 0;
  std::vector<PendingProposal> pending;
  pending.reserve(proposals.size());
  for (Proposal& proposal : proposals) {
    bytes += proposal.data.size();
    if (proposal.waiter == nullptr) continue;
    pending.push_back(
        {.id = proposal.id, .deadline = proposal.deadline, .waiter = std::move(proposal.waiter)});
  }
  const bool too_many =
      waiters_.size() + pending.size() > options_.max_waiting_proposals ||
      waiting_bytes_.load(std::memory_order_relaxed) + bytes > options_.max_waiting_proposal_bytes;
  if (too_many) {
    for (PendingProposal& refused : pending) refused.waiter->Failed(kErrTooManyRequests.ToError());
    return;
  }
  waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  waiters_.Register(std::move(pending));
  HandOver([&](Inbox& inbox) {
    if (inbox.proposals.empty()) {
      inbox.proposals = std::move(proposals);
    } else {
      std::ranges::move(proposals, std::back_inserter(inbox.proposals));
    }
  });
}

void Replica::ReadIndex(ReadTask task) {
  if (waiting_reads_.fetch_add(1, std::memory_order_relaxed) >= options_.max_waiting_reads) {
    waiting_reads_.fetch_sub(1, std::memory_order_relaxed);
    task(kErrTooManyRequests.Fail());
    return;
  }
  ReadTask counted = [this, task = std::move(task)](const Result<void>& confirmed) mutable {
    waiting_reads_.fetch_sub(1, std::memory_order_relaxed);
    task(confirmed);
  };
  HandOver([&](Inbox& inbox) { inbox.reads.push_back(std::move(counted)); });
}

bool Replica::PutMessage(Inbox& inbox, raft::Message&& message) {
  const std::size_t size_bytes = SizeBytes(message);
  if (inbox.messages.size() >= options_.max_waiting_messages ||
      inbox_message_bytes_ + size_bytes > options_.max_waiting_message_bytes) {
    refused_messages_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  inbox_message_bytes_ += size_bytes;
  inbox.messages.push_back(std::move(message));
  return true;
}

bool Replica::Receive(raft::Message message) {
  bool taken = false;
  HandOver([&](Inbox& inbox) { taken = PutMessage(inbox, std::move(message)); });
  return taken;
}

void Replica::ReceiveAll(std::vector<raft::Message> messages) {
  HandOver([&](Inbox& inbox) {
    for (raft::Message& message : messages) PutMessage(inbox, std::move(message));
  });
}

void Replica::Unreachable(raft::MemberId peer) {
  HandOver([&](Inbox& inbox) {
    if (std::ranges::find(inbox.unreachable, peer) == inbox.unreachable.end())
      inbox.unreachable.push_back(peer);
  });
}

void Replica::SnapshotSent(raft::MemberId peer, bool succeeded) {
  HandOver([&](Inbox& inbox) { inbox.snapshots_sent.emplace_back(peer, succeeded); });
}

void Replica::SnapshotInstalled(const raft::SnapshotMetadata& metadata) {
  HandOver([&](Inbox& inbox) { inbox.installed = metadata; });
}

void Replica::Persisted(std::uint64_t ready_number) {
  HandOver([&](Inbox& inbox) { inbox.persisted = std::max(inbox.persisted, ready_number); });
}

void Replica::SnapshotEnded(raft::Index index) {
  HandOver([&](Inbox& inbox) {
    inbox.compact = std::max(inbox.compact, index);
    inbox.snapshot_ended = true;
  });
}

void Replica::Applied(raft::Index index) {
  HandOver([&](Inbox& inbox) { inbox.applied = std::max(inbox.applied, index); });
}

void Replica::ConfChanged(raft::Index index, const raft::ConfChange& change) {
  HandOver([&](Inbox& inbox) { inbox.conf_changes.emplace_back(index, change); });
}

void Replica::BackendDurable(raft::Index index) {
  HandOver([&](Inbox& inbox) { inbox.durable = std::max(inbox.durable, index); });
}

void Replica::Drain() {
  Inbox inbox;
  {
    std::lock_guard lock(mutex_);
    drain_posted_ = false;
    inbox = std::exchange(inbox_, {});
    inbox_message_bytes_ = 0;
  }
  if (stopped_) {
    for (ReadTask& task : inbox.reads) task(kErrStopped.Fail());
    for (const Proposal& proposal : inbox.proposals)
      FailProposal(proposal.id, kErrStopped.ToError());
    return;
  }
  if (inbox.persisted != 0) node_->Persisted(inbox.persisted);
  for (const auto& [index, change] : inbox.conf_changes) {
    const auto state = node_->ApplyConfChange(raft::AsV2(change));
    if (state.has_value()) conf_states_.emplace_back(index, *state);
  }
  if (inbox.installed.has_value()) {
    conf_states_.assign(1, {inbox.installed->index, inbox.installed->conf_state});
    snapshot_index_ = std::max(snapshot_index_, inbox.installed->index);
    kept_size_bytes_ = 0;
  }
  if (inbox.applied != 0) node_->Applied(inbox.applied);
  if (inbox.applied != 0) MaybeCampaignAlone();
  if (inbox.applied != 0 && !pending_changes_.empty())
    ProposeAll(std::exchange(pending_changes_, {}));
  durable_index_ = std::max(durable_index_, inbox.durable);
  for (const raft::MemberId peer : inbox.unreachable) node_->ReportUnreachable(peer);
  for (const auto& [peer, succeeded] : inbox.snapshots_sent) {
    catch_up_log_.Ended(peer, succeeded, raft_.clock().Now());
    node_->ReportSnapshot(peer, succeeded);
  }
  StepAll(std::move(inbox.messages));
  if (inbox.compact != 0) {
    compact_index_ = inbox.compact;
    CompactLog();
  }
  if (inbox.snapshot_ended) {
    snapshot_running_ = false;
    kept_size_bytes_ = node_->log().size_bytes();
  }
  if (!inbox.proposals.empty()) ProposeAll(std::move(inbox.proposals));
  if (!inbox.reads.empty()) reads_.Add(std::move(inbox.reads), raft_.clock().Now());
  ProcessReady();
  MaybeSnapshot();
}

void Replica::StepAll(std::vector<raft::Message> messages) {
  for (raft::Message& message : messages) {
    const raft::MemberId from = message.from;
    const bool is_snapshot =
        message.type == raft::MessageType::kSnap && message.snapshot != nullptr;
    const raft::Index snapshot = is_snapshot ? message.snapshot->metadata.index : 0;
    const Result<void> stepped = Step(std::move(message));
    // Also when it came once more while the first one waits to be installed.
    const raft::Log& log = node_->log();
    const bool is_wanted = log.snapshot_index() == snapshot && log.applied() < snapshot;
    if (is_snapshot && !is_wanted) hooks_.snapshot_ignored(snapshot);
    if (stepped.has_value()) continue;
    refused_messages_.fetch_add(1, std::memory_order_relaxed);
    if (refused_.size() >= kMaxRefusedSenders) refused_.clear();
    RefusedMessages& refused = refused_[from];
    const TimePoint now = raft_.clock().Now();
    if (++refused.count != 1 && now < refused.logged + kRefusalLogPause) continue;
    refused.logged = now;
    KV_WARN("refused a peer's message", {"from", IdText(from)}, {"error", stepped.error().message},
            {"refused-so-far", refused.count});
  }
}

// Proposals of another member's clients go into the log once, also if they come again.
Result<void> Replica::Step(raft::Message message) {
  if (message.type != raft::MessageType::kProp || node_->role() != raft::Role::kLeader)
    return node_->Step(std::move(message));
  const std::size_t count = message.entries.size();
  const std::vector<std::uint64_t> ids = taken_proposals_.DropKnown(message.entries);
  if (ids.size() < count) {
    repeated_proposals_.fetch_add(count - ids.size(), std::memory_order_relaxed);
    if (ids.empty()) return {};
  }
  const raft::Index before = node_->log().last_index();
  KV_RETURN_IF_ERROR(node_->Step(std::move(message)));
  // Raft takes them from the front, as far as there is room.
  taken_proposals_.Add(std::span(ids).first(node_->log().last_index() - before));
  return {};
}

void Replica::SendAll(std::vector<raft::Message> messages) {
  std::erase_if(messages, [&](raft::Message& message) {
    if (message.type != raft::MessageType::kSnap) return false;
    catch_up_log_.Begun(message.to, message.snapshot->metadata.index);
    hooks_.send_snapshot(std::move(message));
    return true;
  });
  if (!messages.empty()) transport_->Send(std::move(messages));
}

bool Replica::IsOfAnotherTerm(const Proposal& proposal) const {
  if (proposal.only_in_term == 0) return false;
  return node_->role() != raft::Role::kLeader || node_->term() != proposal.only_in_term;
}

void Replica::ProposeAll(std::vector<Proposal> proposals) {
  std::erase_if(proposals, [&](Proposal& proposal) {
    if (IsOfAnotherTerm(proposal)) {
      waiting_bytes_.fetch_sub(proposal.data.size(), std::memory_order_relaxed);
      FailProposal(proposal.id, kErrNotPrimary.ToError());
      return true;
    }
    if (proposal.type == raft::EntryType::kNormal) return false;
    ProposeConfChange(std::move(proposal));
    return true;
  });
  if (proposals.empty()) return;
  std::vector<SharedBytes> batch;
  batch.reserve(proposals.size());
  std::size_t bytes = 0;
  for (Proposal& proposal : proposals) {
    bytes += proposal.data.size();
    batch.push_back(proposal.data);
  }
  waiting_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  const raft::ProposeResult result = node_->Propose(batch);
  if (result.dropped == raft::Dropped::kNot) return;
  const auto rest = std::span(proposals).subspan(result.accepted);
  if (result.dropped == raft::Dropped::kNoLeader ||
      result.dropped == raft::Dropped::kTransferring) {
    for (Proposal& proposal : rest) {
      waiting_bytes_.fetch_add(proposal.data.size(), std::memory_order_relaxed);
      leaderless_.push_back(std::move(proposal));
    }
    return;
  }
  const Error refusal = RefusalOf(result.dropped);
  for (const Proposal& proposal : rest) FailProposal(proposal.id, refusal);
}

void Replica::ProposeConfChange(Proposal proposal) {
  waiting_bytes_.fetch_sub(proposal.data.size(), std::memory_order_relaxed);
  const raft::Dropped dropped = node_->ProposeConfChange(proposal.type, proposal.data).dropped;
  switch (dropped) {
    case raft::Dropped::kNot:
      return;
    case raft::Dropped::kNoLeader:
    case raft::Dropped::kTransferring:
    case raft::Dropped::kConfChangePending:
      waiting_bytes_.fetch_add(proposal.data.size(), std::memory_order_relaxed);
      (dropped == raft::Dropped::kConfChangePending ? pending_changes_ : leaderless_)
          .push_back(std::move(proposal));
      return;
    case raft::Dropped::kNotMember:
    case raft::Dropped::kTooMuchPending:
      return FailProposal(proposal.id, RefusalOf(dropped));
  }
}

void Replica::CheckLearner(raft::MemberId id, Callback callback) {
  raft_.Post([this, id, callback = std::move(callback)]() mutable {
    if (stopped_) return callback(kErrStopped.Fail());
    if (node_->role() != raft::Role::kLeader) return callback(kErrNotLeader.Fail());
    const auto& progress = node_->tracker().progress();
    const auto learner = progress.find(id);
    const auto self = progress.find(node_->id());
    if (learner == progress.end()) return callback(kErrMemberNotFound.Fail());
    const raft::Index own = self == progress.end() ? node_->log().persisted() : self->second.match;
    if (learner->second.match * 10 < own * 9) return callback(kErrLearnerNotReady.Fail());
    callback({});
  });
}

void Replica::MoveLeader(raft::MemberId to, TimePoint deadline, Callback callback) {
  raft_.Post([this, to, deadline, callback = std::move(callback)]() mutable {
    if (stopped_) return callback(kErrStopped.Fail());
    if (node_->role() != raft::Role::kLeader) return callback(kErrNotLeader.Fail());
    if (!raft::IsVoterOf(node_->conf_state(), to)) return callback(kErrBadLeaderTransferee.Fail());
    KV_INFO("leadership transfer starting", {"current-leader-member-id", IdText(node_->id())},
            {"transferee-member-id", IdText(to)});
    node_->TransferLeadership(to);
    transfers_.push_back({.to = to, .deadline = deadline, .callback = std::move(callback)});
    ProcessReady();
  });
}

void Replica::GiveUpLeadership(Duration limit, Task done) {
  raft_.Post([this, limit, done = std::move(done)]() mutable {
    const raft::MemberId successor = stopped_ ? raft::kNone : node_->BestSuccessor();
    if (successor == raft::kNone) return done();
    KV_INFO("leadership transfer starting", {"current-leader-member-id", IdText(node_->id())},
            {"transferee-member-id", IdText(successor)});
    node_->TransferLeadership(successor);
    const TimePoint deadline = raft_.clock().Now() + limit;
    transfers_.push_back({.to = raft::kNone,
                          .deadline = deadline,
                          .callback = [done = std::move(done)](const Result<void>& result) mutable {
                            if (!result.has_value())
                              KV_WARN("leadership transfer failed",
                                      {"error", result.error().message});
                            done();
                          }});
    raft_.PostAt(deadline, [this] { EndTransfers(); });
    ProcessReady();
  });
}

void Replica::EndTransfers() {
  const raft::MemberId leader = node_->leader();
  const TimePoint now = raft_.clock().Now();
  std::vector<Transfer> ended;
  std::erase_if(transfers_, [&](Transfer& transfer) {
    const bool moved = transfer.to == raft::kNone ? leader != raft::kNone && leader != node_->id()
                                                  : leader == transfer.to;
    if (!moved && now < transfer.deadline) return false;
    ended.push_back(std::move(transfer));
    return true;
  });
  for (Transfer& transfer : ended) {
    const bool moved = now < transfer.deadline || leader == transfer.to;
    if (moved) KV_INFO("leadership transfer finished", {"leader-member-id", IdText(leader)});
    transfer.callback(moved ? Result<void>() : kErrTimeoutLeaderTransfer.Fail());
  }
}

bool Replica::IsConnectedSince(raft::MemberId peer, TimePoint since) const {
  const auto active = transport_->ActiveSince(peer);
  return active.has_value() && *active < since;
}

Error Replica::TimeoutError() const {
  const TimePoint asked = raft_.clock().Now() - options_.request_timeout;
  if (asked > elected_ - 2 * options_.election_timeout && asked < elected_)
    return kErrTimeoutDueToLeaderFail.ToError();
  const raft::MemberId leader = node_->leader();
  if (leader == raft::kNone) return kErrTimeout.ToError();
  if (leader != node_->id()) {
    return IsConnectedSince(leader, asked) ? kErrTimeout.ToError()
                                           : kErrTimeoutDueToConnectionLost.ToError();
  }
  std::size_t members = 0;
  std::size_t connected = 0;
  for (const auto& [id, progress] : node_->tracker().progress()) {
    ++members;
    if (id == node_->id() || IsConnectedSince(id, asked)) ++connected;
  }
  return connected > members / 2 ? kErrTimeout.ToError() : kErrTimeoutDueToConnectionLost.ToError();
}

void Replica::DropExpired(std::vector<Proposal>& proposals, TimePoint now) {
  std::erase_if(proposals, [&](const Proposal& proposal) {
    if (proposal.deadline > now) return false;
    waiting_bytes_.fetch_sub(proposal.data.size(), std::memory_order_relaxed);
    return true;
  });
}

void Replica::FailProposal(std::uint64_t id, const Error& error) {
  for (auto& waiter : waiters_.Take({id})) {
    if (waiter != nullptr) waiter->Failed(error);
  }
}

// Where nobody leads, or the leader has too much to do, no answer comes, and it is asked again.
std::uint64_t Replica::AskForReads() {
  const std::uint64_t context = ids_.Next();
  node_->ReadIndex(context);
  return context;
}

void Replica::ArmTick() {
  raft_.PostAt(raft_.clock().Now() + options_.tick, [this] {
    if (stopped_) return;
    OnTick();
    ArmTick();
  });
}

void Replica::OnTick() {
  node_->Tick();
  HurryFirstElection();
  const auto silence = options_.tick * static_cast<std::int64_t>(node_->ticks_without_leader());
  is_leader_overdue_.store(silence >= 2 * options_.election_timeout, std::memory_order_release);
  const TimePoint now = raft_.clock().Now();
  if (auto expired = waiters_.TakeExpired(now); !expired.empty()) {
    const Error error = TimeoutError();
    for (auto& waiter : expired) waiter->Failed(error);
  }
  DropExpired(leaderless_, now);
  DropExpired(pending_changes_, now);
  // What waited for a transfer that came to nothing, too.
  if (!leaderless_.empty() && node_->leader() != raft::kNone)
    ProposeAll(std::exchange(leaderless_, {}));
  if (!pending_changes_.empty()) ProposeAll(std::exchange(pending_changes_, {}));
  reads_.Tick(now);
  apply_.ExpireWaiting(now);
  if (compact_index_ != 0) CompactLog();
  ProcessReady();
  MaybeSnapshot();
}

void Replica::ProcessReady() {
  while (node_->HasReady()) HandleReady(node_->TakeReady());
  PublishState();
}

void Replica::HandleReady(raft::Ready ready) {
  event_log_.Write(ready.events, raft_.clock().Now());
  // First, since clients wait for it; then, as a leader, what the followers can do while our own
  // disk works.
  if (!ready.committed.empty()) apply_.Push(std::move(ready.committed));
  const bool is_leader = node_->role() == raft::Role::kLeader;
  if (is_leader) {
    KV_FAILPOINT("raftBeforeLeaderSend");
    SendAll(std::move(ready.messages));
  }
  KV_FAILPOINT("raftBeforeSave");
  Save(ready);
  if (!is_leader) {
    KV_FAILPOINT("raftBeforeFollowerSend");
    SendAll(std::move(ready.messages));
  }
  for (const raft::ReadState& state : ready.read_states) {
    for (ReadRounds::Read& read : reads_.TakeConfirmed(state.context))
      apply_.WaitApplied(state.index, read.deadline, std::move(read.task));
  }
  if (!ready.read_states.empty()) reads_.AskNext(raft_.clock().Now());
  const bool found_leader = ready.soft_state.has_value() && ready.soft_state->leader != raft::kNone;
  if (found_leader) {
    if (ready.soft_state->leader == node_->id()) elected_ = raft_.clock().Now();
    if (!leaderless_.empty()) ProposeAll(std::exchange(leaderless_, {}));
    reads_.LeaderFound(raft_.clock().Now());
  }
  KV_FAILPOINT("raftBeforeAdvance");
}

// The failpoints stand at each Ready, be there something to save or not, so that one that sleeps
// stops this member's heartbeats, though they wait for no disk otherwise.
void Replica::Save(raft::Ready& ready) {
  if (!ready.must_sync) KV_FAILPOINT("raftAfterSave");  // else the log writer's
  if (ready.snapshot == nullptr && ready.entries.empty() && !ready.hard_state.has_value()) return;
  log_.Push({.ready_number = ready.number,
             .snapshot = std::move(ready.snapshot),
             .entries = std::move(ready.entries),
             .hard_state = ready.hard_state,
             .must_sync = ready.must_sync});
}

void Replica::CompactLog() {
  const raft::Index index =
      catch_up_log_.Bound(compact_index_, node_->log().size_bytes(), raft_.clock().Now());
  node_->Compact(index);
  if (index == compact_index_) compact_index_ = 0;  // else again with the next tick
}

void Replica::PublishState() {
  commit_index_.store(node_->log().committed(), std::memory_order_release);
  term_.store(node_->term(), std::memory_order_release);
  leader_.store(node_->leader(), std::memory_order_release);
  const raft::Term leading = node_->role() == raft::Role::kLeader ? node_->term() : 0;
  const bool changed = leading_term_.exchange(leading, std::memory_order_acq_rel) != leading;
  if (changed && hooks_.leadership_changed) hooks_.leadership_changed();
  if (!transfers_.empty()) EndTransfers();
}

// The log in memory goes no further back than a snapshot lets it, and neither does what a start
// reads: so it is due by entries and by bytes. Where the memory begins behind the last one, the
// start left out what was too much.
bool Replica::IsSnapshotDue() const {
  if (durable_index_ <= snapshot_index_) return false;
  return durable_index_ >= snapshot_index_ + options_.snapshot_count ||
         node_->log().size_bytes() > kept_size_bytes_ + options_.snapshot_size_bytes ||
         node_->log().snapshot_index() > snapshot_index_;
}

void Replica::MaybeSnapshot() {
  if (snapshot_running_ || !IsSnapshotDue()) return;
  const raft::Index index = durable_index_;
  const auto term = node_->log().TermAt(index);
  if (!term.has_value()) return;
  const auto newer =
      std::ranges::find_if(conf_states_, [&](const auto& state) { return state.first > index; });
  conf_states_.erase(conf_states_.begin(), std::prev(newer));
  snapshot_running_ = true;
  snapshot_index_ = index;
  log_.SaveSnapshot({.conf_state = conf_states_.front().second, .index = index, .term = *term});
}

}  // namespace kvorum::server
