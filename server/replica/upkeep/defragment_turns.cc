#include "server/replica/upkeep/defragment_turns.h"

namespace kvorum::server {

bool DefragmentTurns::Ask(raft::MemberId member, Request request, raft::Term term,
                          raft::MemberId self, TimePoint now) {
  if (term == 0 || member == raft::kNone) return false;
  std::lock_guard lock(mutex_);
  FollowTerm(term, now);
  switch (request) {
    case Request::kBegin:
      return Begin(member, self, now);
    case Request::kRenew:
      return Renew(member, now);
    case Request::kEnd:
      if (holder_ == member) holder_ = raft::kNone;
      return false;
  }
  return false;
}

void DefragmentTurns::FollowTerm(raft::Term term, TimePoint now) {
  if (term == term_) return;
  term_ = term;
  holder_ = raft::kNone;
  quiet_until_ = now + kHold;
}

bool DefragmentTurns::Begin(raft::MemberId member, raft::MemberId self, TimePoint now) {
  const bool is_self = member == self;
  if (!is_self) others_want_until_ = now + kHold;
  if (now < quiet_until_ || IsHeldByAnother(member, now)) return false;
  if (is_self && now < others_want_until_) return false;
  holder_ = member;
  held_until_ = now + kHold;
  return true;
}

bool DefragmentTurns::Renew(raft::MemberId member, TimePoint now) {
  if (IsHeldByAnother(member, now)) return false;
  holder_ = member;
  held_until_ = now + kHold;
  return true;
}

}  // namespace kvorum::server
