#include "server/process/process/removal.h"

#include <chrono>
#include <utility>

#include "base/log/logging.h"

namespace kvorum::server {
namespace {

constexpr Duration kDelay = std::chrono::seconds(1);
constexpr Duration kLeadingLimit = std::chrono::seconds(6);
constexpr Duration kPoll = std::chrono::milliseconds(100);

}  // namespace

void Removal::Watch(std::function<bool()> is_leading, std::function<void()> ended) {
  is_leading_ = std::move(is_leading);
  ended_ = std::move(ended);
}

void Removal::Begin() {
  if (has_begun_.exchange(true)) return;
  const TimePoint now = control_.clock().Now();
  control_.PostAt(now + kDelay, [this, limit = now + kLeadingLimit] { EndUnlessLeading(limit); });
}

void Removal::EndUnlessLeading(TimePoint limit) {
  const TimePoint now = control_.clock().Now();
  if (is_leading_() && now < limit) {
    control_.PostAt(now + kPoll, [this, limit] { EndUnlessLeading(limit); });
    return;
  }
  KV_WARN("server error", {"error", "the member has been permanently removed from the cluster"});
  KV_WARN("data-dir used by this member must be removed");
  ended_();
}

}  // namespace kvorum::server
