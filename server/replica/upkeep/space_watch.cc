#include "server/replica/upkeep/space_watch.h"

#include <chrono>
#include <utility>

#include "base/log/logging.h"

namespace kvorum::server {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);

}  // namespace

void SpaceWatch::Start() {
  executor_.Post([this] { Look(); });
}

void SpaceWatch::Stop() {
  executor_.Post([this] { stopped_ = true; });
}

void SpaceWatch::Look() {
  if (stopped_) return;
  LookLater();
  // One proposal at a time: without a leader none of them succeeds.
  if (is_proposing_) return;
  LookAtOwn();
  if (is_proposing_) return;
  if (const auto orphan = hooks_.orphan(); orphan.has_value())
    Propose(AlarmAction::kDeactivate, *orphan);
}

void SpaceWatch::LookAtOwn() {
  const bool has_space = hooks_.has_space();
  const bool stands = hooks_.alarm_stands();
  if (!has_space && !stands) {
    KV_WARN("the disk of this member is nearly full; asking for the NOSPACE alarm");
    Propose(AlarmAction::kActivate, own_);
  }
  if (!has_space || !stands || !hooks_.has_room_to_spare()) return calm_since_.reset();
  const TimePoint now = executor_.clock().Now();
  if (!calm_since_.has_value()) calm_since_ = now;
  if (now - *calm_since_ < kCalm) return;
  KV_INFO("there is room again; disarming the NOSPACE alarm of this member");
  Propose(AlarmAction::kDeactivate, own_);
}

void SpaceWatch::LookLater() {
  executor_.PostAt(executor_.clock().Now() + kLookEvery, [this] { Look(); });
}

void SpaceWatch::Propose(AlarmAction action, const Alarm& alarm) {
  is_proposing_ = true;
  hooks_.propose(action, alarm, [this] { executor_.Post([this] { is_proposing_ = false; }); });
}

}  // namespace kvorum::server
