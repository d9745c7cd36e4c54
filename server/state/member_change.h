// Configuration changes as values: a membership and a change in, the new membership or the refusal
// out. The one home of what a change must satisfy; asked before it is proposed, and again when it
// is applied, where every replica decides alike: nothing here depends on a member's own flags.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "proto/raft_types.h"
#include "server/messages/member.h"

namespace kvorum::server {

// What one entry of a configuration change says.
struct MemberChange {
  raft::ConfChangeType type = raft::ConfChangeType::kAddNode;
  raft::MemberId id = raft::kNone;
  Member member;            // of an addition and an update
  bool is_promote = false;  // an addition that makes a voter of a learner
  // Of the addition of a learner: the limit of the member that was asked (--max-learners). It
  // travels with the change, so that all decide alike whatever their own flags say.
  std::optional<std::size_t> max_learners{};

  static MemberChange Add(Member member);
  static MemberChange Remove(raft::MemberId id);
  static MemberChange Update(raft::MemberId id, std::vector<std::string> peer_urls);
  static MemberChange Promote(raft::MemberId id);
};

// As the log holds it; `id` is that of whoever waits for it.
raft::ConfChange EncodeMemberChange(std::uint64_t id, const MemberChange& change);
// kDataLoss for a context that is no member, or another one than the change names.
Result<MemberChange> DecodeMemberChange(const raft::ConfChange& change);

// The answers of the API: kErrMemberNotFound (also of an id that was removed), kErrMemberExist,
// kErrPeerUrlExist, kErrMemberNotLearner, kErrTooManyLearners; kErrNotEnoughStarted for the removal
// of the only voter.
Result<void> CheckMemberChange(const MembershipView& view, const MemberChange& change);
// The membership after a change that CheckMemberChange let through.
MembershipView ApplyMemberChange(MembershipView view, const MemberChange& change);

// The members as Raft counts them.
raft::ConfState ConfStateOf(const MembershipView& view);

}  // namespace kvorum::server
