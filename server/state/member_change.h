// Configuration changes as values: a membership and a change in, the new membership or the refusal
// out. The single home of the rules for a change; checked before it is proposed, and again when it
// is applied, where every replica decides alike: nothing here depends on a member's own flags.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/member.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// The content of one configuration change entry.
struct MemberChange {
  raft::ConfChangeType type = raft::ConfChangeType::kAddNode;
  raft::MemberId id = raft::kNone;
  Member member;            // for an addition and an update
  bool is_promote = false;  // an addition that turns a learner into a voter
  // For the addition of a learner: the limit of the member that was asked (--max-learners). It
  // travels with the change, so that all decide alike, regardless of their flags. Without one,
  // from a member of etcd, the limit is etcd's default.
  std::optional<std::size_t> max_learners{};

  static MemberChange Add(Member member);
  static MemberChange Remove(raft::MemberId id);
  static MemberChange Update(raft::MemberId id, std::vector<std::string> peer_urls);
  static MemberChange Promote(raft::MemberId id);
};

// The form in the log; `id` identifies the waiter.
raft::ConfChange EncodeMemberChange(std::uint64_t id, const MemberChange& change);
// kDataLoss for a context that is not a member, or not the one that the change names.
Result<MemberChange> DecodeMemberChange(const raft::ConfChange& change);

// The API's errors: kErrMemberNotFound (also for a removed id), kErrMemberExist, kErrPeerUrlExist,
// kErrMemberNotLearner, kErrTooManyLearners; kErrNotEnoughStarted for the removal of the only
// voter.
Result<void> CheckMemberChange(const MembershipView& view, const MemberChange& change);
// The membership after a change that passed CheckMemberChange.
MembershipView ApplyMemberChange(MembershipView view, const MemberChange& change);

// The members as Raft counts them.
raft::ConfState ConfStateOf(const MembershipView& view);

}  // namespace kvorum::server
