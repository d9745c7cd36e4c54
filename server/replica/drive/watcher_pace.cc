#include "server/replica/drive/watcher_pace.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "server/replica/drive/waiting_proposals.h"

namespace kvorum::server {
namespace {

constexpr Duration kPauseOfLeast = Duration(std::chrono::seconds(1)) / WatcherPace::kLeastPerSecond;
// The bound of how many pass at once after the executor was held up.
constexpr std::int64_t kMostAtOnce = 100;

std::int64_t Signed(std::uint64_t bound) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bound, INT64_MAX));
}

}  // namespace

WatcherPace::WatcherPace(Executor& executor, WaitingProposals& waiting, Bounds bounds, Hooks hooks)
    : executor_(executor),
      waiting_(waiting),
      hard_(Signed(bounds.hard)),
      soft_(Signed(bounds.soft)),
      hooks_(std::move(hooks)) {
  KV_CHECK((hard_ == 0 || hooks_.lag != nullptr) && (soft_ == 0 || hooks_.crowd_lag != nullptr),
           "a bound on the lag without a source of the lag");
}

void WatcherPace::Pass(std::vector<Proposal>& proposals) {
  const auto writes =
      static_cast<std::size_t>(std::ranges::count(proposals, true, &Proposal::is_key_write));
  if (writes == 0) return;
  std::size_t room = Room(writes, 0);
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
std::size_t WatcherPace::Room(std::size_t arriving, std::int64_t least) const {
  std::int64_t room = INT64_MAX;
  if (soft_ != 0) {
    const std::int64_t lag = hooks_.crowd_lag();
    if (lag > 0) room = std::max(soft_ - lag, least);
  }
  if (hard_ == 0) return static_cast<std::size_t>(std::max<std::int64_t>(room, 0));
  const std::size_t waiting = waiting_.key_writes();
  const std::size_t held = waiting_.held_for_watchers() + arriving;
  const std::size_t on_their_way = waiting > held ? waiting - held : 0;
  room = std::min(room, hard_ - hooks_.lag() - static_cast<std::int64_t>(on_their_way));
  return static_cast<std::size_t>(std::max<std::int64_t>(room, 0));
}

void WatcherPace::Arm() {
  if (is_armed_ || !waiting_.HasHeldForWatchers()) return;
  is_armed_ = true;
  least_since_ = executor_.clock().Now();
  PostLook();
}

void WatcherPace::PostLook() {
  executor_.PostAt(executor_.clock().Now() + kLook, [this] { Look(); });
}

void WatcherPace::Look() {
  const TimePoint now = executor_.clock().Now();
  const std::int64_t least = std::min((now - least_since_) / kPauseOfLeast, kMostAtOnce);
  least_since_ = least < kMostAtOnce ? least_since_ + least * kPauseOfLeast : now;
  std::vector<Proposal> due;
  waiting_.TakeHeldForWatchers(Room(0, least), due);
  if (!due.empty()) hooks_.propose(std::move(due));
  is_armed_ = waiting_.HasHeldForWatchers();
  if (is_armed_) PostLook();
}

}  // namespace kvorum::server
