#include "raft/tracker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "raft/quorum.h"

namespace kvorum::raft {

namespace {

std::set<MemberId> MembersOf(const ConfState& conf) {
  std::set<MemberId> members(conf.voters.begin(), conf.voters.end());
  members.insert(conf.voters_outgoing.begin(), conf.voters_outgoing.end());
  members.insert(conf.learners.begin(), conf.learners.end());
  return members;
}

}  // namespace

void Tracker::SetConfState(ConfState conf_state, Index next_index, std::uint64_t now) {
  conf_state_ = std::move(conf_state);
  const std::set<MemberId> members = MembersOf(conf_state_);
  std::erase_if(progress_, [&](const auto& item) { return !members.contains(item.first); });
  for (const MemberId id : members) {
    progress_.try_emplace(id, Progress{.next = next_index, .is_active = true, .heard_at = now});
  }
}

bool Tracker::IsVoter(MemberId id) const { return IsVoterOf(conf_state_, id); }

bool Tracker::IsOnlyVoter(MemberId id) const {
  return !IsJoint() && conf_state_.voters.size() == 1 && conf_state_.voters.front() == id;
}

Progress* Tracker::Find(MemberId id) {
  const auto found = progress_.find(id);
  return found == progress_.end() ? nullptr : &found->second;
}

Index Tracker::QuorumMatch() const {
  return Index{
      QuorumValue(conf_state_, [&](MemberId id) { return progress_.at(id).match.value(); })};
}

std::uint64_t Tracker::QuorumHeardAt(MemberId self, std::uint64_t now) const {
  return QuorumValue(conf_state_,
                     [&](MemberId id) { return id == self ? now : progress_.at(id).heard_at; });
}

VoteResult Tracker::CountVotes() const {
  const auto vote_of = [&](MemberId id, bool if_unknown) -> std::uint64_t {
    const auto found = votes_.find(id);
    return (found == votes_.end() ? if_unknown : found->second) ? 1 : 0;
  };
  if (QuorumValue(conf_state_, [&](MemberId id) { return vote_of(id, false); }) != 0)
    return VoteResult::kWon;
  // Lost once a quorum is out of reach even if every silent member agreed.
  if (QuorumValue(conf_state_, [&](MemberId id) { return vote_of(id, true); }) == 0)
    return VoteResult::kLost;
  return VoteResult::kPending;
}

void Tracker::CheckInvariants() const {
  const std::set<MemberId> members = MembersOf(conf_state_);
  KV_CHECK(members.size() == progress_.size(), "the progress table does not match the members");
  for (const auto& [id, progress] : progress_) {
    KV_CHECK(members.contains(id), "progress of a node that is not a member");
    progress.CheckInvariants();
  }
  KV_CHECK(conf_state_.learners_next.empty() || IsJoint(),
           "learners_next outside of a joint configuration");
  for (const MemberId id : conf_state_.learners)
    KV_CHECK(!IsVoter(id), "a learner that is a voter");
  for (const MemberId id : conf_state_.learners_next) {
    KV_CHECK(std::ranges::binary_search(conf_state_.voters_outgoing, id),
             "a member of learners_next is not an outgoing voter");
  }
}

}  // namespace kvorum::raft
