#include "server/apply/applier.h"

#include "api/entries/conf_state_json.h"
#include "api/entries/entry_kinds.h"
#include "api/entries/request_summary.h"
#include "api/inner_text.h"
#include "api/member_id.h"
#include "api/version.h"
#include "base/answer_memory.h"
#include "base/api_errors.h"
#include "base/check.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "mvcc/records/bucket.h"
#include "server/apply/auth_applier.h"

namespace kvorum::server {
namespace {

// A request in the log was checked before it was proposed; if it does not parse there, the log is
// damaged.
std::unexpected<Error> DamagedEntry(const Error& error) {
  return Fail(Code::kDataLoss, "a log entry's request is malformed: " + error.message);
}

// A row is held a second time when it is encoded.
constexpr std::size_t kCopies = 2;

}  // namespace

Applier::Applier(mvcc::Store& store, Membership& membership, Alarms& alarms, Quota& quota,
                 Leases& leases, AuthApplier& auth, WaitTable& waiters, Hooks hooks,
                 const Bounds& bounds)
    : store_(store),
      membership_(membership),
      alarms_(alarms),
      quota_(quota),
      leases_(leases),
      auth_(auth),
      waiters_(waiters),
      hooks_(std::move(hooks)),
      bounds_(bounds),
      consistent_index_(store.recovered().consistent_index),
      held_(bounds.answers) {}

std::size_t Applier::Apply(std::span<const raft::Entry> entries) {
  std::size_t applied = 0;
  for (const raft::Entry& entry : entries) {
    if (const auto done = ApplyEntry(entry); !done.has_value()) {
      hooks_.on_fatal(Error{done.error().code, "cannot apply log entry " +
                                                   std::to_string(entry.index.value()) + ": " +
                                                   done.error().message});
      failed_ = true;
      return applied;
    }
    ++applied;
    if (answer_bytes_ + store_.UnpublishedBytes() <= bounds_.batch_bytes) continue;
    EndBatch();
    if (!store_.HasRoom()) return applied;
  }
  EndBatch();
  return applied;
}

void Applier::EndBatch() {
  if (applied_index_ > consistent_index_) {
    store_.Publish(applied_index_.value(), applied_term_.value());
    consistent_index_ = applied_index_;
  }
  AnswerAll();
  answer_bytes_ = 0;
}

void Applier::Installed(raft::Index index, raft::Term term) {
  consistent_index_ = index;
  applied_index_ = index;
  applied_term_ = term;
}

Result<void> Applier::ApplyEntry(const raft::Entry& entry) {
  const bool replayed = entry.index <= consistent_index_;
  switch (entry.type) {
    case raft::EntryType::kNormal:
      KV_FAILPOINT("beforeApplyOneEntryNormal");
      if (!replayed && !entry.data.empty()) KV_RETURN_IF_ERROR(ApplyNormal(entry));
      break;
    case raft::EntryType::kConfChange:
      KV_FAILPOINT("beforeApplyOneConfChange");
      if (!replayed) KV_RETURN_IF_ERROR(ApplyConfChange(entry));
      break;
    case raft::EntryType::kConfChangeV2:
      return Fail(Code::kUnimplemented,
                  "joint configuration changes are not supported by this version");
  }
  applied_index_ = entry.index;
  applied_term_ = entry.term;
  return {};
}

Result<void> Applier::ApplyNormal(const raft::Entry& entry) {
  const auto request = DecodeInternalRequest(entry.data.view());
  if (!request.has_value()) return std::unexpected(request.error());
  if (joining_.has_value()) KV_RETURN_IF_ERROR(CheckJoining(*request));
  Outcome outcome{.id = request->id,
                  .result = {.index = entry.index,
                             .term = entry.term,
                             .value = Dispatch({*request, entry.index, entry.term})}};
  Answer& value = outcome.result.value;
  // The store's refusals are answers; damage is not.
  if (!value.has_value() && value.error().code == Code::kDataLoss &&
      value.error() != kErrCorrupt.ToError()) {
    return std::unexpected(value.error());
  }
  times_.Count(request->kind, value.has_value());
  if (!value.has_value() && value.error() != kErrCompacted.ToError()) {
    KV_WARN("failed to apply request", {"request", EntrySummary(entry.data.view())},
            {"response", ""}, {"error", InnerText(value.error().message)});
  }
  if (std::exchange(is_answered_later_, false)) return {};
  outcome.is_over_quota = std::exchange(is_over_quota_, false) && value.has_value();
  // It is written, as on every replica, at any size of the local database.
  if (outcome.is_over_quota) value = kErrNoSpace.Fail();
  // Constructed first: an assignment alone would take the memory that held_ counts for.
  if (held_.bytes() > 0) outcome.result.held = AnswerMemory::Reservation(std::move(held_));
  outcomes_.push_back(std::move(outcome));
  return {};
}

Result<void> Applier::CheckJoining(const InternalRequest& request) {
  bool has_joined = false;
  if (request.kind == RequestKind::kMemberAttributesSet) {
    const auto attributes = DecodeMemberAttributes(request.body);
    has_joined = attributes.has_value() && attributes->member == joining_->self;
  }
  if (auth_.is_enabled() && (has_joined || request.kind == RequestKind::kTxn))
    return Fail(Code::kFailedPrecondition, joining_->refusal);
  if (has_joined) joining_.reset();
  return {};
}

Applier::Answer Applier::Dispatch(const CommittedRequest& entry) {
  return VisitEntryKind(entry.kind, [&]<class Kind>(Kind kind) -> Answer {
    const auto body = Kind::Decode(entry.body);
    if (!body.has_value()) return DamagedEntry(body.error());
    const std::uint64_t cost_bytes = Kind::CostBytes(*body);
    KV_RETURN_IF_ERROR(alarms_.Admit(Kind::kUnderCorruptAlarm, cost_bytes));
    if constexpr (std::is_same_v<typename Kind::Body, BodyWithoutEffect>) {
      return ApplyResult::Value{};
    } else if constexpr (AuthApplier::Handles(Kind::kKind)) {
      return auth_.Execute(kind, entry, *body);
    } else {
      is_over_quota_ = cost_bytes > 0 && !quota_.Fits(cost_bytes);
      return Execute(kind, entry, *body);
    }
  });
}

mvcc::AnswerRoom Applier::RoomFor(const InternalRequest& entry) {
  return {bounds_.answer_bytes,
          {.is_wanted = [this, id = entry.id] { return waiters_.Waits(id); },
           .reserve = [this](std::size_t bytes) { return held_.Grow(kCopies * bytes); }}};
}

// Also if it is too large only for now: a client that gets "too many requests" assumes that nothing
// was done.
std::unexpected<Error> Applier::TooLarge(const mvcc::AnswerRoom& room) {
  held_.Release();
  return std::unexpected(AnswerSizeError(room.taken_bytes(), room.room_bytes()));
}

template <auto kWrite, class Request>
Applier::Answer Applier::Write(const CommittedRequest& entry, const Request& request) {
  KV_RETURN_IF_ERROR(auth_.CheckKeys(entry, request));
  mvcc::AnswerRoom room = RoomFor(entry);
  mvcc::WriteTxn txn = store_.Begin(room);
  auto result = (txn.*kWrite)(request);
  txn.End();
  if (!result.has_value()) return std::unexpected(std::move(result).error());
  if (is_over_quota_) return ApplyResult::Value{};  // ApplyNormal refuses it
  if (room.is_exceeded()) return TooLarge(room);
  answer_bytes_ += room.taken_bytes();
  return *std::move(result);
}

Applier::Answer Applier::Execute(EntryKind<RequestKind::kPut>, const CommittedRequest& entry,
                                 const mvcc::PutRequest& request) {
  return Write<&mvcc::WriteTxn::Put>(entry, request);
}

Applier::Answer Applier::Execute(EntryKind<RequestKind::kDeleteRange>,
                                 const CommittedRequest& entry,
                                 const mvcc::DeleteRangeRequest& request) {
  return Write<&mvcc::WriteTxn::DeleteRange>(entry, request);
}

Applier::Answer Applier::Execute(EntryKind<RequestKind::kTxn>, const CommittedRequest& entry,
                                 const mvcc::TxnRequest& request) {
  return Write<&mvcc::WriteTxn::ExecuteTxn>(entry, request);
}

// A client that waits for the deletion is answered when it is durable, with the store's state at
// that time.
Applier::Answer Applier::Execute(EntryKind<RequestKind::kCompaction>, const CommittedRequest& entry,
                                 const CompactionRequest& request) {
  auto answer = std::make_shared<Answer>(CompactionResult{.revision = store_.working_revision()});
  // Only those who wait here are kept until it has finished: entries may be without number.
  std::move_only_function<void()> on_finished;
  if (request.physical && waiters_.Waits(entry.id)) {
    on_finished = [this, id = entry.id, term = entry.term, answer] {
      for (auto& waiter : waiters_.Take({id})) {
        if (waiter != nullptr) waiter->Applied({.term = term, .value = std::move(*answer)});
      }
    };
  }
  const auto compacted = store_.Compact(request.revision, std::move(on_finished));
  if (!compacted.has_value()) *answer = std::unexpected(compacted.error());
  is_answered_later_ =
      request.physical && (compacted.has_value() || compacted.error() == kErrCompacted);
  if (is_answered_later_) return ApplyResult::Value{};
  return std::move(*answer);
}

Applier::Answer Applier::Execute(EntryKind<RequestKind::kLeaseGrant>, const CommittedRequest&,
                                 const LeaseGrantRequest& request) {
  KV_TRY(const lease::LeaseRecord record, leases_.Grant(request.id, request.ttl_s));
  StoreLease(record);
  return LeaseGrantResult{
      .revision = store_.working_revision(), .id = record.id, .ttl_s = record.ttl_s};
}

// All keys at one revision, the entry's, and in their order, so that every member's sub-revisions
// are the same.
Applier::Answer Applier::Execute(EntryKind<RequestKind::kLeaseRevoke>,
                                 const CommittedRequest& entry, lease::LeaseId id) {
  KV_RETURN_IF_ERROR(auth_.CheckRevoke(entry, id));
  if (!leases_.LeaseExists(id)) return kErrLeaseNotFound.Fail();
  mvcc::WriteTxn txn = store_.Begin();
  for (const std::string& key : leases_.KeysOf(id)) {
    const auto deleted = txn.DeleteRange({.key = key, .range_end = {}});
    KV_CHECK(deleted.has_value(), "a key of a lease cannot be deleted");
  }
  txn.End();
  store_.DeleteBucket(mvcc::Bucket::kLease, lease::View(lease::EncodeLeaseKey(id)));
  leases_.Revoke(id);
  return LeaseRevokeResult{.revision = store_.working_revision()};
}

Applier::Answer Applier::Execute(EntryKind<RequestKind::kLeaseCheckpoint>, const CommittedRequest&,
                                 const std::vector<LeaseCheckpoint>& checkpoints) {
  for (const LeaseCheckpoint& checkpoint : checkpoints) {
    const auto record = leases_.Checkpoint(checkpoint.id, checkpoint.remaining_s);
    if (!record.has_value()) continue;  // revoked meanwhile
    StoreLease(*record);
  }
  return ApplyResult::Value{};
}

Applier::Answer Applier::Execute(EntryKind<RequestKind::kAlarm>, const CommittedRequest&,
                                 const AlarmRequest& request) {
  AlarmResult result{.revision = store_.working_revision(), .alarms = {}};
  const Alarm& alarm = request.alarm;
  switch (request.action) {
    case AlarmAction::kGet:
      result.alarms = alarms_.List(alarm.type);
      break;
    case AlarmAction::kActivate:
      if (alarm.type == AlarmType::kNone) break;
      if (alarms_.Activate(alarm)) {
        store_.PutBucket(mvcc::Bucket::kAlarm, EncodeAlarm(alarm), {});
        KV_WARN("alarm raised", {"alarm", AlarmText(alarm)});
      }
      result.alarms.push_back(alarm);
      break;
    case AlarmAction::kDeactivate:
      if (alarms_.Deactivate(alarm)) {
        store_.DeleteBucket(mvcc::Bucket::kAlarm, EncodeAlarm(alarm));
        KV_INFO("alarm disarmed", {"alarm", AlarmText(alarm)});
        result.alarms.push_back(alarm);
      }
      break;
  }
  return result;
}

Applier::Answer Applier::Execute(EntryKind<RequestKind::kMemberAttributesSet>,
                                 const CommittedRequest&, const MemberAttributes& attributes) {
  if (membership_.SetAttributes(attributes.member, attributes.name, attributes.client_urls))
    StoreMember(attributes.member);
  return ApplyResult::Value{};
}

Applier::Answer Applier::Execute(EntryKind<RequestKind::kClusterVersionSet>,
                                 const CommittedRequest&, const std::string& version) {
  membership_.SetClusterVersion(version);
  store_.PutBucket(mvcc::Bucket::kCluster, "clusterVersion", version);
  store_.PutBucket(mvcc::Bucket::kMeta, mvcc::meta_key::kStorageVersion, kStorageVersion);
  KV_INFO("set the cluster version", {"cluster-version", version});
  return ApplyResult::Value{};
}

Applier::Answer Applier::Execute(EntryKind<RequestKind::kDowngradeInfoSet>, const CommittedRequest&,
                                 const DowngradeInfo& downgrade) {
  membership_.SetDowngrade(downgrade);
  store_.PutBucket(mvcc::Bucket::kCluster, "downgrade", EncodeDowngradeJson(downgrade));
  if (downgrade.enabled) {
    KV_INFO("a downgrade of the cluster begins", {"target-version", downgrade.target_version});
  } else {
    KV_INFO("no downgrade of the cluster is under way any more");
  }
  return ApplyResult::Value{};
}

Result<void> Applier::ApplyConfChange(const raft::Entry& entry) {
  KV_TRY(const raft::ConfChange encoded, raft::DecodeConfChange(entry.data));
  KV_TRY(const MemberChange change, DecodeMemberChange(encoded));
  auto value = ChangeMembers(change);
  const bool changed = value.has_value();
  outcomes_.push_back(
      {.id = encoded.id, .result = {.term = entry.term, .value = std::move(value)}});
  if (changed) hooks_.on_conf_change(entry.index, encoded);
  return {};
}

Applier::Answer Applier::ChangeMembers(const MemberChange& change) {
  const auto before = membership_.View();
  if (auto checked = CheckMemberChange(*before, change); !checked.has_value()) {
    KV_WARN("refused a configuration change", {"member", IdText(change.id)},
            {"error", checked.error().message});
    return std::unexpected(std::move(checked).error());
  }
  membership_.Set(ApplyMemberChange(*before, change));
  if (change.type == raft::ConfChangeType::kRemoveNode) {
    store_.DeleteBucket(mvcc::Bucket::kMembers, IdText(change.id));
    store_.PutBucket(mvcc::Bucket::kMembersRemoved, IdText(change.id), "removed");
    KV_INFO("removed member", {"removed-remote-peer-id", IdText(change.id)});
  } else {
    StoreMember(change.id);
    const Member& member = membership_.View()->members.at(change.id);
    KV_INFO(change.type == raft::ConfChangeType::kUpdateNode ? "updated member"
            : change.is_promote                              ? "promote member"
                                                             : "added member",
            {"peer-id", IdText(change.id)}, {"is-learner", member.is_learner});
  }
  StoreConfState();
  return MembershipResult{membership_.View()};
}

void Applier::StoreLease(const lease::LeaseRecord& record) {
  store_.PutBucket(mvcc::Bucket::kLease, lease::View(lease::EncodeLeaseKey(record.id)),
                   lease::EncodeLease(record));
}

void Applier::StoreMember(raft::MemberId id) {
  const auto view = membership_.View();
  store_.PutBucket(mvcc::Bucket::kMembers, IdText(id), EncodeMemberJson(view->members.at(id)));
}

void Applier::StoreConfState() {
  store_.PutBucket(mvcc::Bucket::kMeta, mvcc::meta_key::kConfState,
                   EncodeConfStateJson(ConfStateOf(*membership_.View())));
}

// Acknowledges the batch. Its entries were committed: a majority has each of them on disk
// (Node::Persisted of the leader, and the followers' answers), and readers see what they did.
void Applier::AnswerAll() {
  std::vector<std::uint64_t> ids;
  ids.reserve(outcomes_.size());
  for (const Outcome& outcome : outcomes_) ids.push_back(outcome.id);
  auto waiters = waiters_.Take(ids);
  const bool alarm_stands = alarms_.Stands(AlarmType::kNoSpace);
  bool alarm_due = false;
  std::vector<std::pair<std::unique_ptr<Waiter>, ApplyResult>> after_alarm;
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    ApplyResult& result = outcomes_[i].result;
    const bool asks_for_alarm = outcomes_[i].is_over_quota && !alarm_stands;
    alarm_due |= asks_for_alarm;
    if (waiters[i] == nullptr) continue;
    if (asks_for_alarm) {
      after_alarm.emplace_back(std::move(waiters[i]), std::move(result));
    } else {
      waiters[i]->Applied(std::move(result));
    }
  }
  outcomes_.clear();
  if (!alarm_due) return;
  hooks_.on_no_space([after_alarm = std::move(after_alarm)]() mutable {
    for (auto& [waiter, result] : after_alarm) waiter->Applied(std::move(result));
  });
}

}  // namespace kvorum::server
