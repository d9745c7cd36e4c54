// The leader's decision who may defragment: one member of the cluster at a time, the leader last.
//
// A turn is a lease in memory: it ends by itself after kHold unless its holder renews it, which it
// does while it defragments. Nothing is stored. A new leader, which knows no turns, grants none for
// as long as an old one may last, and learns of it from its renewal. So two members defragment at
// once only if one of them reaches no leader for kHold while it is at it.
//
// Thread-safe: a short lock. O(1).
#pragma once

#include <mutex>

#include "base/clock.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class DefragmentTurns {
 public:
  static constexpr Duration kHold = std::chrono::seconds(30);

  enum class Request : std::uint8_t {
    kBegin,  // wants to defragment
    kRenew,  // is at it
    kEnd,    // is done
  };
  // Returns true if the member has the turn. `term` is the one in which `self` leads, 0 if it does
  // not: such a member gives no turn.
  bool Ask(raft::MemberId member, Request request, raft::Term term, raft::MemberId self,
           TimePoint now);

 private:
  void FollowTerm(raft::Term term, TimePoint now);
  bool Begin(raft::MemberId member, raft::MemberId self, TimePoint now);
  bool Renew(raft::MemberId member, TimePoint now);
  bool IsHeldByAnother(raft::MemberId member, TimePoint now) const {
    return holder_ != raft::kNone && holder_ != member && now < held_until_;
  }

  std::mutex mutex_;
  raft::Term term_ = 0;
  TimePoint quiet_until_;  // an older leader's turn may last until then
  raft::MemberId holder_ = raft::kNone;
  TimePoint held_until_;
  TimePoint others_want_until_;  // followers are waiting for a turn
};

}  // namespace kvorum::server
