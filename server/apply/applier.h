// Applies committed entries, in order, to the store, the alarms and the membership, each guarded by
// the consistent index so that a replay changes nothing twice.
//
// Used by the apply executor only. Its effect depends on the log and the replicated state alone, so
// that every replica does the same; the exceptions, the quota and the part of an answer that is
// read, change an answer and never the state.
//
// A batch ends early if its answers or its writes are large: a small request may copy large values,
// and if the store has no room for more, the remaining entries wait for it.
//
// Rows that a request reads for its answer (ranges in a txn, previous values) are read only where a
// client waits for it, and as far as Bounds allow: a larger answer becomes an error, although the
// request's writes are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/task.h"
#include "mvcc/store/answer_room.h"
#include "mvcc/store/store.h"
#include "proto/raft_types.h"
#include "server/apply/apply_result.h"
#include "server/apply/apply_times.h"
#include "server/apply/committed_request.h"
#include "server/apply/wait_table.h"
#include "server/state/alarms.h"
#include "server/state/leases.h"
#include "server/state/member_change.h"
#include "server/state/membership.h"
#include "server/state/quota.h"

namespace kvorum::server {

class AuthApplier;
struct AlarmRequest;
struct CompactionRequest;
struct LeaseCheckpoint;
struct LeaseGrantRequest;
struct MemberAttributes;

class Applier {
 public:
  struct Hooks {
    // A configuration change took effect. A refused change is not reported: Raft knows nothing
    // about members' URLs and removed ids, so to it that entry changes nothing, on every replica
    // alike.
    std::function<void(raft::Index index, const raft::ConfChange& change)> on_conf_change;
    // A write exceeded the quota and no alarm is raised yet: raises it through the log, then runs
    // `answer`, so that the refused client finds the alarm.
    std::function<void(Task answer)> on_no_space;
    // The replica cannot go on: the log contains something that this version cannot apply.
    std::function<void(const Error& error)> on_fatal;
  };

  struct Bounds {
    std::size_t answer_bytes = std::size_t{128} << 20;  // of one answer
    AnswerMemory* answers = nullptr;                    // of all answers together; null: not
                                                        // counted
    std::size_t batch_bytes = std::size_t{8} << 20;     // that end a batch
  };

  Applier(mvcc::Store& store, Membership& membership, Alarms& alarms, Quota& quota, Leases& leases,
          AuthApplier& auth, WaitTable& waiters, Hooks hooks, const Bounds& bounds);

  // Applies the entries, publishes them as one batch, or as several, and answers their waiters.
  // Returns the number applied: not all if the store has no room for the next one.
  std::size_t Apply(std::span<const raft::Entry> entries);
  // An entry could not be applied, and on_fatal was called: nothing of its batch was published or
  // answered, and no later entry may be applied, since it would miss that entry's effect.
  bool failed() const { return failed_; }

  // For a member that joins beside others which decide permissions of transactions otherwise: while
  // auth is on it applies no transaction, and does not become a started member; the replica ends
  // with this text. Ends when `self` is listed with its name. Called before the first Apply.
  void RefuseAuthWhileJoining(raft::MemberId self, std::string text) {
    joining_ = Joining{.self = self, .refusal = std::move(text)};
  }

  // An installed snapshot has brought the state up to this entry.
  void Installed(raft::Index index, raft::Term term);

  raft::Index applied_index() const { return applied_index_; }
  // The term of the last applied entry: everything of earlier terms is applied.
  raft::Term applied_term() const { return applied_term_; }
  ApplyTimes& times() { return times_; }

 private:
  using Answer = Result<ApplyResult::Value>;

  struct Outcome {
    std::uint64_t id = 0;
    ApplyResult result;
    // Found here, not taken from an alarm that was raised: an alarm that an entry of the same batch
    // disarms must not be requested.
    bool is_over_quota = false;
  };

  // An error ends the replica.
  Result<void> ApplyEntry(const raft::Entry& entry);
  Result<void> ApplyNormal(const raft::Entry& entry);
  Result<void> ApplyConfChange(const raft::Entry& entry);
  Result<void> CheckJoining(const InternalRequest& request);
  // Checks the alarms and the quota, which are the same for all kinds, then executes.
  Answer Dispatch(const CommittedRequest& entry);

  // The room for this entry's answer.
  mvcc::AnswerRoom RoomFor(const InternalRequest& entry);
  // A change of keys by a function of mvcc::WriteTxn, with its answer or an error if that found no
  // room.
  template <auto kWrite, class Request>
  Answer Write(const CommittedRequest& entry, const Request& request);
  std::unexpected<Error> TooLarge(const mvcc::AnswerRoom& room);

  // The effect of each kind that is neither the Auth service's nor without one.
  Answer Execute(EntryKind<RequestKind::kPut>, const CommittedRequest& entry,
                 const mvcc::PutRequest& request);
  Answer Execute(EntryKind<RequestKind::kDeleteRange>, const CommittedRequest& entry,
                 const mvcc::DeleteRangeRequest& request);
  Answer Execute(EntryKind<RequestKind::kTxn>, const CommittedRequest& entry,
                 const mvcc::TxnRequest& request);
  Answer Execute(EntryKind<RequestKind::kCompaction>, const CommittedRequest& entry,
                 const CompactionRequest& request);
  Answer Execute(EntryKind<RequestKind::kLeaseGrant>, const CommittedRequest& entry,
                 const LeaseGrantRequest& request);
  Answer Execute(EntryKind<RequestKind::kLeaseRevoke>, const CommittedRequest& entry,
                 lease::LeaseId id);
  Answer Execute(EntryKind<RequestKind::kLeaseCheckpoint>, const CommittedRequest& entry,
                 const std::vector<LeaseCheckpoint>& checkpoints);
  Answer Execute(EntryKind<RequestKind::kAlarm>, const CommittedRequest& entry,
                 const AlarmRequest& request);
  Answer Execute(EntryKind<RequestKind::kMemberAttributesSet>, const CommittedRequest& entry,
                 const MemberAttributes& attributes);
  Answer Execute(EntryKind<RequestKind::kDowngradeInfoSet>, const CommittedRequest& entry,
                 const DowngradeInfo& downgrade);
  Answer Execute(EntryKind<RequestKind::kClusterVersionSet>, const CommittedRequest& entry,
                 const std::string& version);

  // The change's answer, or the reason for refusing it.
  Answer ChangeMembers(const MemberChange& change);
  void StoreLease(const lease::LeaseRecord& record);
  void StoreMember(raft::MemberId id);
  void StoreConfState();
  void EndBatch();
  void AnswerAll();

  mvcc::Store& store_;
  Membership& membership_;
  Alarms& alarms_;
  Quota& quota_;
  Leases& leases_;
  AuthApplier& auth_;
  WaitTable& waiters_;
  Hooks hooks_;
  const Bounds bounds_;

  raft::Index consistent_index_;  // what the backend had at the start, then what was applied
  raft::Index applied_index_ = 0;
  raft::Term applied_term_ = 0;
  bool failed_ = false;
  struct Joining {
    raft::MemberId self = raft::kNone;
    std::string refusal;
  };
  std::optional<Joining> joining_;
  ApplyTimes times_;
  std::vector<Outcome> outcomes_;
  // About the entry being applied.
  bool is_over_quota_ = false;
  bool is_answered_later_ = false;
  std::size_t answer_bytes_ = 0;  // read for the answers
  AnswerMemory::Reservation held_;
};

}  // namespace kvorum::server
