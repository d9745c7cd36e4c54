// Replaces a member's database by a fresh snapshot of the leader's, while everybody goes on: what
// `kvorumctl member reseed` asks for.
//
// The member asks its leader's peer port (POST /kvorum/reseed/<id>, with the cluster's id). The
// leader stops sending it entries, puts one more entry into the log, so that its snapshot is newer
// than all that the member has, and sends that snapshot as to any follower that is too far behind:
// the member's log and database are replaced by it in the way that each crash leaves the old ones
// or the new ones.
//
// That entry is committed without the member, so a leader refuses while it hears from no majority
// beside it: everybody's writes would wait with the entry.
//
// Thread-safe. Reseed answers on the executor, which each question to the leader blocks. The
// context outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "proto/raft_types.h"
#include "server/peer/transport/peer_request.h"

namespace kvorum::server {

class Proposer;
class Quarantine;
struct Reads;

inline constexpr std::string_view kReseedPrefix = "/kvorum/reseed/";

// The leader's side: begins to send the snapshot, unless it does so already, and calls back once it
// has, or cannot:
// kFailedPrecondition if no majority can ever be there without that member, or if this member's own
// database is damaged. Any thread.
void SendFreshSnapshot(Proposer& proposer, const Quarantine& quarantine, raft::MemberId to,
                       std::function<void(Result<void> begun)> done);

class Reseeder {
 public:
  using Done = std::move_only_function<void(Result<void> done)>;

  Reseeder(Executor& executor, PeerRequester& peers, const Reads& reads,
           const Quarantine& quarantine)
      : executor_(executor), peers_(peers), reads_(reads), quarantine_(quarantine) {}

  // Calls back when this member has a new database, also if that was asked for before.
  // kFailedPrecondition on the leader, if the leader is of another program or damaged itself, or in
  // a cluster of two;
  // kUnavailable when time has run out.
  void Reseed(TimePoint deadline, Done done);

 private:
  struct Waiting {
    TimePoint deadline;
    Done done;
  };
  void Look();
  void EndLate(TimePoint now);
  void EndAll(const Result<void>& outcome);
  Result<void> AskLeader();

  Executor& executor_;
  PeerRequester& peers_;
  const Reads& reads_;
  const Quarantine& quarantine_;
  // The executor's. One attempt at a time, for all that wait.
  std::vector<Waiting> waiting_;
  std::uint64_t epoch_ = 0;  // of the database to be replaced
  TimePoint ask_at_;         // the leader, again
};

}  // namespace kvorum::server
