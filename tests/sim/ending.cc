#include "tests/sim/ending.h"

#include "tests/sim/clients/request.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Until the watchers have everything: a catch-up may be bound to one revision a round.
constexpr Duration kWatchBound = seconds(300);

}  // namespace

// Everything published has been given to all watchers, and they know that this is all.
void Ending::Run(const LiveVoters& live_voters) {
  const TimePoint end = world_.scheduler.Now() + kWatchBound;
  if (!world_.RunUntil(end, [this] { return parts_.watchers.AreAtEnd(); }))
    return world_.Fail("watchers do not get to the end: {}", parts_.watchers.Behind());
  // A progress request is skipped while one of the stream's watchers is being caught up.
  bool knows = false;
  while (!knows && !world_.failed() && world_.scheduler.Now() < end) {
    parts_.watchers.AskForProgress();
    knows = world_.RunUntil(world_.scheduler.Now() + milliseconds(300),
                            [this] { return parts_.watchers.KnowTheEnd(); });
  }
  if (!knows) world_.Fail("watchers are not told of the end: {}", parts_.watchers.Behind());
  if (world_.has_locks && !world_.failed()) Observe(end, live_voters);
  if (world_.has_copies && !world_.failed()) Copy(end);
}

// All observers of the election see one more leader.
void Ending::Observe(TimePoint end, const LiveVoters& live_voters) {
  PutLastLeader(live_voters);
  const auto is_seen = [this] {
    const auto& leaders = parts_.lock_judge.queues().Now(LockClients::kElection);
    return !leaders.empty() && parts_.locks.HaveSeen(leaders.begin()->second.created);
  };
  if (!world_.RunUntil(end, is_seen)) world_.Fail("observers are not told of the last leader");
}

void Ending::PutLastLeader(const LiveVoters& live_voters) {
  const std::vector<Machine*> live = live_voters();
  Clients& clients = parts_.clients;
  clients.Ask(live.front()->number(), PutOf(LockClients::LastLeader(), clients.NewValue()),
              [this, live_voters](bool answered) {
                if (!answered) PutLastLeader(live_voters);
              });
}

// All caches are what the store holds, and the catalog is true. It may have become untrue once
// more: a call that a fault had lost can cost an agent its lease afterwards.
void Ending::Copy(TimePoint end) {
  Copies& copies = parts_.copies;
  bool equal = false;
  while (!equal && !world_.failed() && world_.scheduler.Now() < end) {
    copies.AskForProgress();
    equal = world_.RunUntil(world_.scheduler.Now() + seconds(3),
                            [&] { return copies.AreAtEnd() && copies.IsCatalogTrue(); });
  }
  copies.CheckAll();
  if (!equal) world_.Fail("copies are not what they copy: {}", copies.Behind());
}

}  // namespace kvorum::sim
