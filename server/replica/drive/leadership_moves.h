// Callers that wait for a leadership transfer to end.
//
// Threading: used by the raft executor only, where the callbacks run, too. Each is called once.
#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class LeadershipMoves {
 public:
  using Callback = std::move_only_function<void(Result<void>)>;

  // Leadership is to go from `self` to this member; kNone: to any other.
  void Begin(raft::MemberId self, raft::MemberId to, TimePoint deadline, Callback callback);
  bool empty() const { return moves_.empty(); }
  // Calls back those whose member leads, or whose deadline has passed.
  void End(raft::MemberId leader, TimePoint now);
  void FailAll(const Error& error);

 private:
  struct Move {
    raft::MemberId from;
    raft::MemberId to;
    TimePoint deadline;
    Callback callback;

    bool IsDone(raft::MemberId leader) const {
      return to == raft::kNone ? leader != raft::kNone && leader != from : leader == to;
    }
  };

  std::vector<Move> moves_;
};

}  // namespace kvorum::server
