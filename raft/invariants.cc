// The invariants of a Node, for tests, fuzzers and the simulation.
#include "base/check.h"
#include "raft/node.h"

namespace kvorum::raft {

// Raft: paper figure 3
void Node::CheckInvariants() const {
  log_.CheckInvariants();
  tracker_.CheckInvariants();
  KV_CHECK(term_ >= log_.last_term(), "the log is of a later term than ours");
  KV_CHECK(term_ >= last_ready_.hard_state.term, "the term went back");
  KV_CHECK(term_ > last_ready_.hard_state.term || last_ready_.hard_state.vote == kNone ||
               last_ready_.hard_state.vote == vote_,
           "a vote changed within its term");
  KV_CHECK(log_.committed() >= last_ready_.hard_state.commit, "the commit index went back");
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
      KV_CHECK(last_ready_.hard_state.term == term_ && last_ready_.hard_state.vote == config_.id,
               "a leader whose vote went to no disk");
      KV_CHECK(log_.last_term() == term_, "a leader without an entry of its term");
      const auto self = tracker_.progress().find(config_.id);
      KV_CHECK(self == tracker_.progress().end() || self->second.match == log_.persisted(),
               "a leader counts for itself what is not on its disk");
      for (const auto& [id, progress] : tracker_.progress())
        KV_CHECK(progress.match <= log_.last_index(), "a follower is ahead of its leader");
      break;
    }
  }
  KV_CHECK(!lost_data_.stands() || role_ == Role::kFollower, "a candidate that has lost data");
  if (role_ != Role::kLeader) {
    KV_CHECK(reads_.size() == 0 && !transfer_.is_under_way(), "leader's business without a leader");
  }
}

}  // namespace kvorum::raft
