#include "server/replica/space_watch.h"

#include <chrono>
#include <utility>

#include "base/logging.h"

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
  if (is_raising_ || hooks_.has_space() || hooks_.alarm_stands()) return;
  KV_WARN("the disk of this member is nearly full; asking for the NOSPACE alarm");
  is_raising_ = true;
  hooks_.raise([this] { executor_.Post([this] { is_raising_ = false; }); });
}

void SpaceWatch::LookLater() {
  executor_.PostAt(executor_.clock().Now() + kLookEvery, [this] { Look(); });
}

}  // namespace kvorum::server
