#include "tests/sim/program.h"

#include <utility>

namespace kvorum::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Their clocks are as good or bad as those of the members.
constexpr std::int64_t kSlowestPpm = 700'000;
constexpr std::int64_t kFastestPpm = 1'400'000;

}  // namespace

Program::Program(World& world, std::vector<std::unique_ptr<Machine>>& machines, ProgramUser& user,
                 SimStore::Options options)
    : clock_(world.scheduler),
      lane_(std::make_shared<Lane>(
          world.scheduler, clock_,
          Lane::Options{
              .least = microseconds(5), .most = microseconds(300), .stalled = milliseconds(50)},
          [] {})),
      handlers_(std::make_shared<Lane>(
          world.scheduler, clock_,
          Lane::Options{
              .least = microseconds(5), .most = milliseconds(40), .stalled = milliseconds(2'000)},
          [] {})),
      store_(world, machines, user, std::move(options)) {
  clock_.Boot(world.scheduler.Between(Duration(0), std::chrono::hours(1)));
  clock_.SetRate(kSlowestPpm +
                 static_cast<std::int64_t>(world.scheduler.rng().Below(kFastestPpm - kSlowestPpm)));
}

Program::~Program() {
  lane_->Stop();
  handlers_->Stop();
}

void Program::PauseUntil(TimePoint until) {
  lane_->HoldUntil(until);
  handlers_->HoldUntil(until);
}

}  // namespace kvorum::sim
