#include "server/replica/drive/watcher_pace.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "server/replica/drive/waiting_proposals.h"

namespace kvorum::server {

WatcherPace::WatcherPace(Executor& executor, WaitingProposals& waiting, std::uint64_t max_lag,
                         Hooks hooks)
    : executor_(executor),
      waiting_(waiting),
      max_lag_(static_cast<std::int64_t>(std::min<std::uint64_t>(max_lag, INT64_MAX))),
      hooks_(std::move(hooks)) {
  KV_CHECK(!is_bounded() || hooks_.lag != nullptr,
           "a bound on the lag without a source of the lag");
}

void WatcherPace::Pass(std::vector<Proposal>& proposals) {
  const auto writes =
      static_cast<std::size_t>(std::ranges::count(proposals, true, &Proposal::is_key_write));
  if (writes == 0) return;
  std::size_t room = Room(writes);
  std::vector<Proposal> due;
  waiting_.TakeHeldForWatchers(room, due);
  room -= due.size();
  std::erase_if(proposals, [&](Proposal& proposal) {
    if (!proposal.is_key_write) return false;
    if (room > 0) return --room, false;
    waiting_.HoldForWatchers(std::move(proposal));
    return true;
  });
  proposals.insert(proposals.begin(), std::make_move_iterator(due.begin()),
                   std::make_move_iterator(due.end()));
  Arm();
}

// Writes that are admitted and not handed over to this executor yet count as on their way. They
// come at once, and it looks again then.
std::size_t WatcherPace::Room(std::size_t arriving) const {
  const std::size_t waiting = waiting_.key_writes();
  const std::size_t held = waiting_.held_for_watchers() + arriving;
  const std::size_t on_their_way = waiting > held ? waiting - held : 0;
  const std::int64_t room = max_lag_ - hooks_.lag() - static_cast<std::int64_t>(on_their_way);
  return static_cast<std::size_t>(std::max<std::int64_t>(room, 0));
}

void WatcherPace::Arm() {
  if (is_armed_ || !waiting_.HasHeldForWatchers()) return;
  is_armed_ = true;
  executor_.PostAt(executor_.clock().Now() + kLook, [this] { Look(); });
}

void WatcherPace::Look() {
  is_armed_ = false;
  std::vector<Proposal> due;
  waiting_.TakeHeldForWatchers(Room(0), due);
  if (!due.empty()) hooks_.propose(std::move(due));
  Arm();
}

}  // namespace kvorum::server
