#include "server/replica/upkeep/auto_defragment.h"

#include <utility>

#include "base/log/logging.h"
#include "base/text/duration_text.h"

namespace kvorum::server {
namespace {

using Request = DefragmentTurns::Request;

constexpr Duration kRenewEvery = DefragmentTurns::kHold / 5;

}  // namespace

void AutoDefragment::Start() {
  if (options_.threshold_percent != 0) LookAfter(options_.look_every);
}

bool AutoDefragment::IsWorthIt() const {
  const std::uint64_t size = hooks_.size_bytes();
  const std::uint64_t in_use = hooks_.in_use_bytes();
  const std::uint64_t free = size > in_use ? size - in_use : 0;
  return free >= options_.least_free_bytes && free / options_.threshold_percent >= size / 100;
}

void AutoDefragment::LookAfter(Duration pause) {
  executor_.PostAt(executor_.clock().Now() + pause, [this] { Look(); });
}

void AutoDefragment::Look() {
  if (!IsWorthIt() || !hooks_.ask(Request::kBegin)) return LookAfter(options_.look_every);
  Begin();
}

void AutoDefragment::Begin() {
  KV_INFO("starting auto defragment", {"current-db-size-bytes", hooks_.size_bytes()},
          {"current-db-size-in-use-bytes", hooks_.in_use_bytes()},
          {"auto-defrag-threshold-percent", options_.threshold_percent});
  is_running_ = true;
  executor_.PostAt(executor_.clock().Now() + kRenewEvery, [this] { Renew(); });
  hooks_.defragment([this, started = executor_.clock().Now()](Result<void> outcome) {
    executor_.Post([this, started, outcome = std::move(outcome)] { End(started, outcome); });
  });
}

void AutoDefragment::Renew() {
  if (!is_running_) return;
  hooks_.ask(Request::kRenew);
  executor_.PostAt(executor_.clock().Now() + kRenewEvery, [this] { Renew(); });
}

void AutoDefragment::End(TimePoint started, const Result<void>& outcome) {
  is_running_ = false;
  if (outcome.has_value()) {
    KV_INFO("finished auto defragment", {"current-db-size-bytes", hooks_.size_bytes()},
            {"current-db-size-in-use-bytes", hooks_.in_use_bytes()},
            {"took", FormatDuration(executor_.clock().Now() - started)});
  } else {
    KV_WARN("failed auto defragment", {"error", outcome.error().message});
  }
  hooks_.ask(Request::kEnd);
  LookAfter(options_.rest);
}

}  // namespace kvorum::server
