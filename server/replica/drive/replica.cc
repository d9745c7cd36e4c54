#include "server/replica/drive/replica.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "api/member_id.h"
#include "base/api_errors.h"
#include "base/check.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "raft/conf_change.h"
#include "raft/node.h"
#include "server/apply/apply_loop.h"
#include "server/peer/codec/transport.h"
#include "server/replica/drive/log_writer.h"

namespace kvorum::server {
namespace {

// A forwarded proposal that gets no answer is as likely lost as on its way.
constexpr Duration kRepeatAfter = std::chrono::milliseconds(500);

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

Replica::Replica(std::unique_ptr<raft::Node> node, const Parts& parts, raft::Index snapshot_index,
                 Options options, Hooks hooks)
    : raft_(parts.raft),
      log_(parts.log),
      apply_(parts.apply),
      ids_(parts.ids),
      status_(parts.status),
      options_(options),
      hooks_(std::move(hooks)),
      inbox_(parts.raft, [this] { Drain(); }),
      proposals_(parts.waiters, {.proposals = options.max_waiting_proposals,
                                 .bytes = options.max_waiting_proposal_bytes}),
      node_(std::move(node)),
      reads_([this] { return AskForReads(); }, options.request_timeout),
      timeout_cause_(options.request_timeout, options.election_timeout),
      snapshots_(*node_, snapshot_index,
                 {.entries = options.snapshot_count,
                  .size_bytes = options.snapshot_size_bytes,
                  .catch_up = options.catch_up}),
      pace_(raft_, proposals_, options.max_watch_lag,
            {.lag = hooks_.watch_lag, .propose = [this](std::vector<Proposal> proposals) {
               ProposeAll(std::move(proposals));
               ProcessReady();
             }}) {}

Replica::~Replica() = default;

void Replica::Start(Transport& transport) {
  raft_.Post([this, &transport] {
    transport_ = &transport;
    if (options_.hurry_first_election) first_election_.Begin(raft_.clock().Now());
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

void Replica::HurryFirstElection() {
  const auto ticks = first_election_.TicksToLeaveOut(*node_, *transport_, raft_.clock().Now(),
                                                     options_.election_timeout / options_.tick);
  for (std::int64_t tick = 0; tick < ticks; ++tick) node_->Tick();
}

void Replica::Stop(Task done) {
  raft_.Post([this, done = std::move(done)]() mutable {
    stopped_ = true;
    apply_.Stop();
    proposals_.FailAll(kErrStopped.ToError());
    reads_.FailAll(kErrStopped.ToError());
    moves_.FailAll(kErrStopped.ToError());
    done();
  });
}

void Replica::Propose(std::vector<Proposal> proposals) {
  if (!proposals_.Admit(proposals)) return;
  inbox_.Put([&](Arrived& arrived) {
    if (arrived.proposals.empty()) {
      arrived.proposals = std::move(proposals);
    } else {
      std::ranges::move(proposals, std::back_inserter(arrived.proposals));
    }
  });
}

void Replica::ReadIndex(ReadTask task) {
  if (depths_.reads.fetch_add(1, std::memory_order_relaxed) >= options_.max_waiting_reads) {
    depths_.reads.fetch_sub(1, std::memory_order_relaxed);
    task(kErrTooManyRequests.Fail());
    return;
  }
  ReadTask counted = [this, task = std::move(task)](const Result<void>& confirmed) mutable {
    depths_.reads.fetch_sub(1, std::memory_order_relaxed);
    task(confirmed);
  };
  inbox_.Put([&](Arrived& arrived) { arrived.reads.push_back(std::move(counted)); });
}

bool Replica::PutMessage(Arrived& arrived, raft::Message&& message) {
  const std::size_t size_bytes = SizeBytes(message);
  if (arrived.messages.size() >= options_.max_waiting_messages ||
      arrived.message_bytes + size_bytes > options_.max_waiting_message_bytes) {
    status_.CountRefusedMessage();
    return false;
  }
  arrived.message_bytes += size_bytes;
  arrived.messages.push_back(std::move(message));
  depths_.SetMessages(arrived.messages.size(), arrived.message_bytes);
  return true;
}

bool Replica::Receive(raft::Message message) {
  bool taken = false;
  inbox_.Put([&](Arrived& arrived) { taken = PutMessage(arrived, std::move(message)); });
  return taken;
}

void Replica::ReceiveAll(std::vector<raft::Message> messages) {
  inbox_.Put([&](Arrived& arrived) {
    for (raft::Message& message : messages) PutMessage(arrived, std::move(message));
  });
}

void Replica::Unreachable(raft::MemberId peer) {
  inbox_.Put([&](Arrived& arrived) {
    if (std::ranges::find(arrived.unreachable, peer) == arrived.unreachable.end())
      arrived.unreachable.push_back(peer);
  });
}

void Replica::SnapshotSent(raft::MemberId peer, bool succeeded) {
  inbox_.Put([&](Arrived& arrived) { arrived.snapshots_sent.emplace_back(peer, succeeded); });
}

void Replica::SnapshotInstalled(const raft::SnapshotMetadata& metadata) {
  inbox_.Put([&](Arrived& arrived) { arrived.installed = metadata; });
}

void Replica::Persisted(std::uint64_t ready_number) {
  inbox_.Put(
      [&](Arrived& arrived) { arrived.persisted = std::max(arrived.persisted, ready_number); });
}

void Replica::SnapshotEnded(raft::Index index) {
  inbox_.Put([&](Arrived& arrived) { arrived.snapshot_ended = index; });
}

void Replica::Applied(raft::Index index) {
  inbox_.Put([&](Arrived& arrived) { arrived.applied = std::max(arrived.applied, index); });
}

void Replica::ConfChanged(raft::Index index, const raft::ConfChange& change) {
  inbox_.Put([&](Arrived& arrived) { arrived.conf_changes.emplace_back(index, change); });
}

void Replica::BackendDurable(raft::Index index) {
  inbox_.Put([&](Arrived& arrived) { arrived.durable = std::max(arrived.durable, index); });
}

void Replica::Drain() {
  Arrived arrived = inbox_.Take();
  if (stopped_) return Refuse(arrived);
  TakeProgress(arrived);
  if (!arrived.messages.empty()) depths_.SetMessages(0, 0);
  StepAll(std::move(arrived.messages));
  if (arrived.snapshot_ended.has_value()) snapshots_.Ended(*arrived.snapshot_ended);
  if (pace_.is_bounded()) pace_.Pass(arrived.proposals);
  if (!arrived.proposals.empty()) ProposeAll(std::move(arrived.proposals));
  if (!arrived.reads.empty()) reads_.Add(std::move(arrived.reads), raft_.clock().Now());
  ProcessReady();
  MaybeSnapshot();
}

void Replica::Refuse(Arrived& arrived) {
  for (ReadTask& task : arrived.reads) task(kErrStopped.Fail());
  for (const Proposal& proposal : arrived.proposals)
    proposals_.Fail(proposal.id, kErrStopped.ToError());
}

// Takes the progress of the other executors.
void Replica::TakeProgress(Arrived& arrived) {
  if (arrived.persisted != 0) node_->Persisted(arrived.persisted);
  for (const auto& [index, change] : arrived.conf_changes) {
    auto conf = node_->ApplyConfChange(raft::AsV2(change));
    if (conf.has_value()) snapshots_.ConfChanged(index, *std::move(conf));
  }
  if (arrived.installed.has_value()) snapshots_.Installed(*arrived.installed);
  if (arrived.applied != 0) {
    node_->Applied(arrived.applied);
    MaybeCampaignAlone();
    if (proposals_.HasHeldForChange()) ProposeAll(proposals_.TakeHeldForChange());
  }
  snapshots_.Durable(arrived.durable);
  for (const raft::MemberId peer : arrived.unreachable) node_->ReportUnreachable(peer);
  for (const auto& [peer, succeeded] : arrived.snapshots_sent) {
    snapshots_.SendEnded(peer, succeeded, raft_.clock().Now());
    node_->ReportSnapshot(peer, succeeded);
  }
}

void Replica::StepAll(std::vector<raft::Message> messages) {
  for (raft::Message& message : messages) {
    const raft::MemberId from = message.from;
    const bool is_snapshot =
        message.type == raft::MessageType::kSnap && message.snapshot != nullptr;
    const raft::Index snapshot = is_snapshot ? message.snapshot->metadata.index : 0;
    const Result<void> stepped = Step(std::move(message));
    // Also when it came again while the first one waits to be installed.
    const raft::Log& log = node_->log();
    const bool is_wanted = log.snapshot_index() == snapshot && log.applied() < snapshot;
    if (is_snapshot && !is_wanted) hooks_.snapshot_ignored(snapshot);
    if (stepped.has_value()) continue;
    status_.CountRefusedMessage();
    logs_.refusals.Refused(from, stepped.error(), raft_.clock().Now());
  }
}

// Proposals of another member's clients go into the log once, even if they arrive again.
Result<void> Replica::Step(raft::Message message) {
  if (message.type != raft::MessageType::kProp || node_->role() != raft::Role::kLeader)
    return node_->Step(std::move(message));
  const std::size_t count = message.entries.size();
  const auto marks = taken_proposals_.DropKnown(message.from, message.entries);
  if (marks.size() < count) {
    status_.CountRepeatedProposals(count - marks.size());
    if (marks.empty()) return {};
  }
  const raft::Index before = node_->log().last_index();
  KV_RETURN_IF_ERROR(node_->Step(std::move(message)));
  // Raft takes them from the front, as far as there is room.
  taken_proposals_.Add(std::span(marks).first(node_->log().last_index() - before));
  return {};
}

void Replica::SendAll(std::vector<raft::Message> messages) {
  std::erase_if(messages, [&](raft::Message& message) {
    if (message.type != raft::MessageType::kSnap) return false;
    snapshots_.SendBegun(message.to, message.snapshot->metadata.index);
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
      proposals_.Release(proposal.data.size());
      proposals_.Fail(proposal.id, kErrNotPrimary.ToError());
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
  proposals_.Release(bytes);
  const raft::ProposeResult result = node_->Propose(batch);
  for (Proposal& proposal : std::span(proposals).first(result.accepted)) {
    if (proposal.is_repeatable) proposals_.KeepToRepeat(std::move(proposal), raft_.clock().Now());
  }
  if (result.dropped == raft::Dropped::kNot) return;
  const auto rest = std::span(proposals).subspan(result.accepted);
  if (result.dropped == raft::Dropped::kNoLeader ||
      result.dropped == raft::Dropped::kTransferring) {
    for (Proposal& proposal : rest) proposals_.HoldForLeader(std::move(proposal));
    return;
  }
  const Error refusal = RefusalOf(result.dropped);
  for (const Proposal& proposal : rest) proposals_.Fail(proposal.id, refusal);
}

void Replica::ProposeConfChange(Proposal proposal) {
  proposals_.Release(proposal.data.size());
  const raft::Dropped dropped = node_->ProposeConfChange(proposal.type, proposal.data).dropped;
  switch (dropped) {
    case raft::Dropped::kNot:
      return;
    case raft::Dropped::kNoLeader:
    case raft::Dropped::kTransferring:
      return proposals_.HoldForLeader(std::move(proposal));
    case raft::Dropped::kConfChangePending:
      return proposals_.HoldForChange(std::move(proposal));
    case raft::Dropped::kNotMember:
    case raft::Dropped::kTooMuchPending:
      return proposals_.Fail(proposal.id, RefusalOf(dropped));
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
    const raft::Index match = learner->second.match;
    // A silent voter is ready, too: the cluster's rules refuse it as not a learner.
    const bool is_heard = node_->tracker().IsVoter(id) || node_->HasLately(id, match);
    const bool is_ready = is_heard && match.value() * 10 >= own.value() * 9;
    RaftCounters& counters = status_.counters();
    (is_ready ? counters.promotions : counters.refused_promotions).Add();
    if (!is_ready) return callback(kErrLearnerNotReady.Fail());
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
    moves_.Begin(node_->id(), to, deadline, std::move(callback));
    ProcessReady();
  });
}

void Replica::HoldForSnapshot(raft::MemberId to,
                              std::move_only_function<void(Result<bool> held)> callback) {
  raft_.Post([this, to, callback = std::move(callback)]() mutable {
    if (stopped_) return callback(kErrStopped.Fail());
    if (node_->role() != raft::Role::kLeader) return callback(kErrNotLeader.Fail());
    if (node_->IsHeldForSnapshot(to)) return callback(false);
    if (!node_->HoldForSnapshot(to))
      return callback(Fail(Code::kUnavailable, "the leader does not hear from that member"));
    callback(true);
  });
}

void Replica::SendHeldSnapshot(raft::MemberId to) {
  raft_.Post([this, to] {
    if (stopped_) return;
    node_->SendHeldSnapshot(to);
    ProcessReady();
  });
}

void Replica::LoseData() {
  raft_.Post([this] {
    if (stopped_) return;
    node_->LoseData();
    ProcessReady();
  });
}

void Replica::FollowerLostData(raft::MemberId peer) {
  raft_.Post([this, peer] {
    if (stopped_) return;
    node_->FollowerLostData(peer);
    ProcessReady();
  });
}

void Replica::Fetched(raft::MemberId peer, raft::Index from, std::vector<raft::Entry> entries) {
  raft_.Post([this, peer, from, entries = std::move(entries)] {
    if (stopped_) return;
    node_->Fetched(peer, from, entries);
    ProcessReady();
  });
}

void Replica::GiveUpLeadership(Duration limit, Task done) {
  raft_.Post([this, limit, done = std::move(done)]() mutable {
    HandOver(stopped_ ? raft::kNone : node_->BestSuccessor(), limit, std::move(done));
  });
}

void Replica::GiveUpLeadershipTo(std::vector<raft::MemberId> among, Duration limit, Task done) {
  raft_.Post([this, among = std::move(among), limit, done = std::move(done)]() mutable {
    HandOver(stopped_ ? raft::kNone : node_->BestSuccessor(among), limit, std::move(done));
  });
}

void Replica::HandOver(raft::MemberId successor, Duration limit, Task done) {
  if (successor == raft::kNone) return done();
  KV_INFO("leadership transfer starting", {"current-leader-member-id", IdText(node_->id())},
          {"transferee-member-id", IdText(successor)});
  node_->TransferLeadership(successor);
  const TimePoint deadline = raft_.clock().Now() + limit;
  moves_.Begin(node_->id(), raft::kNone, deadline,
               [done = std::move(done)](const Result<void>& result) mutable {
                 if (!result.has_value())
                   KV_WARN("leadership transfer failed", {"error", result.error().message});
                 done();
               });
  raft_.PostAt(deadline, [this] { EndMoves(); });
  ProcessReady();
}

void Replica::EndMoves() { moves_.End(node_->leader(), raft_.clock().Now()); }

// Without a leader, or with one that is too busy, no answer comes, and the request is repeated.
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
  status_.SetLeaderOverdue(silence >= 2 * options_.election_timeout);
  const TimePoint now = raft_.clock().Now();
  proposals_.FailExpired(now, [&] { return timeout_cause_.Explain(*node_, *transport_, now); });
  // Also those that waited for a failed transfer.
  if (proposals_.HasHeldForLeader() && node_->leader() != raft::kNone)
    ProposeAll(proposals_.TakeHeldForLeader());
  if (proposals_.HasHeldForChange()) ProposeAll(proposals_.TakeHeldForChange());
  // A leader has them in its log.
  if (proposals_.HasToRepeat() && node_->role() != raft::Role::kLeader)
    ProposeAll(proposals_.TakeToRepeat(now - kRepeatAfter));
  const bool is_late = last_tick_.ns != 0 && now - last_tick_ > 2 * options_.tick;
  if (is_late && node_->role() == raft::Role::kLeader) {
    status_.counters().late_ticks.Add();
    KV_WARN(
        "leader failed to send out heartbeat on time; took too long, leader is overloaded likely "
        "from slow disk",
        {"heartbeat-interval", FormatDuration(options_.tick)},
        {"expected-duration", FormatDuration(2 * options_.tick)},
        {"exceeded-duration", FormatDuration(now - last_tick_ - 2 * options_.tick)});
  }
  last_tick_ = now;
  reads_.Tick(now);
  apply_.ExpireWaiting(now);
  snapshots_.Tick(now, log_.written_bytes(), !log_.SpaceLow());
  ProcessReady();
  MaybeSnapshot();
}

void Replica::ProcessReady() {
  while (node_->HasReady()) HandleReady(node_->TakeReady());
  PublishState();
}

void Replica::HandleReady(raft::Ready ready) {
  const TimePoint now = raft_.clock().Now();
  logs_.events.Write(ready.events, now);
  for (const raft::Event& event : ready.events) {
    if (event.type == raft::EventType::kDataLost) status_.counters().losses.Add();
    if (event.type == raft::EventType::kFollowerLostData) status_.counters().peers_losses.Add();
  }
  // First, since clients wait for it; then, as a leader, the followers' work, which they can do
  // while our own disk works.
  if (!ready.committed.empty()) {
    status_.stages().Mark(WriteStage::kCommitted, ready.committed.back().index, now);
    apply_.Push(std::move(ready.committed));
  }
  const bool is_leader = node_->role() == raft::Role::kLeader;
  if (is_leader) {
    KV_FAILPOINT("raftBeforeLeaderSend");
    SendAll(std::move(ready.messages));
  }
  KV_FAILPOINT("raftBeforeSave");
  if (!ready.entries.empty())
    status_.stages().Mark(WriteStage::kAppended, ready.entries.back().index, now);
  Save(ready);
  if (!is_leader) {
    KV_FAILPOINT("raftBeforeFollowerSend");
    SendAll(std::move(ready.messages));
  }
  for (raft::Fetch& fetch : ready.fetches) {
    if (hooks_.fetch) {
      hooks_.fetch(std::move(fetch));
    } else {
      node_->Fetched(fetch.peer, fetch.from, {});
    }
  }
  for (const raft::ReadState& state : ready.read_states) {
    for (ReadRounds::Read& read : reads_.TakeConfirmed(state.context))
      apply_.WaitApplied(state.index, read.deadline, std::move(read.task));
  }
  if (!ready.read_states.empty()) reads_.AskNext(raft_.clock().Now());
  const bool found_leader = ready.soft_state.has_value() && ready.soft_state->leader != raft::kNone;
  if (found_leader) {
    if (ready.soft_state->leader == node_->id()) timeout_cause_.Elected(raft_.clock().Now());
    // The last leader may be gone with the proposals that it got.
    if (proposals_.HasToRepeat()) ProposeAll(proposals_.TakeToRepeat(raft_.clock().Now()));
    if (proposals_.HasHeldForLeader()) ProposeAll(proposals_.TakeHeldForLeader());
    reads_.LeaderFound(raft_.clock().Now());
  }
  KV_FAILPOINT("raftBeforeAdvance");
}

// The failpoints are passed at each Ready, whether or not there is something to save, so that one
// that sleeps stops this member's heartbeats, which otherwise wait for no disk.
void Replica::Save(raft::Ready& ready) {
  if (!ready.must_sync) KV_FAILPOINT("raftAfterSave");  // otherwise the log writer's
  if (ready.snapshot == nullptr && ready.entries.empty() && !ready.hard_state.has_value()) return;
  log_.Push({.ready_number = ready.number,
             .snapshot = std::move(ready.snapshot),
             .entries = std::move(ready.entries),
             .hard_state = ready.hard_state,
             .must_sync = ready.must_sync});
}

void Replica::PublishState() {
  depths_.Publish(*node_, taken_proposals_.size());
  const bool changed = status_.Publish({.commit_index = node_->log().committed(),
                                        .term = node_->term(),
                                        .leader = node_->leader(),
                                        .is_leading = node_->role() == raft::Role::kLeader});
  const raft::Index lost_data = node_->lost_data().index();
  if (lost_data != status_.lost_data()) {
    status_.SetLostData(lost_data);
    if (hooks_.lost_data_changed) hooks_.lost_data_changed(lost_data);
  }
  if (changed && hooks_.leadership_changed) hooks_.leadership_changed();
  if (!moves_.empty()) EndMoves();
}

void Replica::MaybeSnapshot() {
  auto snapshot = snapshots_.Begin();
  if (!snapshot.has_value()) return;
  raft::Index release = snapshots_.ReleaseBound(snapshot->index);
  if (hooks_.release_bound) release = hooks_.release_bound(release);
  log_.SaveSnapshot(*std::move(snapshot), release);
}

void Replica::CheckInvariants() const {
  node_->CheckInvariants();
  const raft::Index committed = node_->log().committed();
  KV_CHECK(status_.commit_index() <= committed, "an index is published as committed too early");
  KV_CHECK(status_.applied_index() <= committed, "an entry is applied that is not committed");
  KV_CHECK(status_.term() <= node_->term(), "a term is published that has not begun");
  KV_CHECK(depths_.messages.load() <= options_.max_waiting_messages, "more messages wait than may");
  KV_CHECK(depths_.message_bytes.load() <= options_.max_waiting_message_bytes,
           "more bytes of messages wait than may");
}

}  // namespace kvorum::server
