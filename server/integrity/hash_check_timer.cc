#include "server/integrity/hash_check_timer.h"

#include "api/member_id.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "server/call/reads.h"
#include "server/replica/drive/replica.h"

namespace kvorum::server {

HashCheckTimer::HashCheckTimer(Executor& executor, Proposer& proposer, const Reads& reads,
                               PeerRequester& peers, const Options& options)
    : executor_(executor),
      cluster_(reads.cluster),
      options_(options),
      source_(proposer, reads, peers) {}

bool HashCheckTimer::IsLeader() const { return cluster_.replica.leader() == cluster_.member_id; }

void HashCheckTimer::Start() {
  const TimePoint now = executor_.clock().Now();
  if (options_.periodic > Duration::zero()) {
    KV_INFO("enabled corruption checking", {"local-member-id", IdText(cluster_.member_id)},
            {"interval", FormatDuration(options_.periodic)});
    executor_.PostAt(now + options_.periodic, [this] { CheckPeriodically(); });
  }
  if (options_.of_compactions > Duration::zero())
    executor_.PostAt(now + options_.of_compactions, [this] { CheckCompactions(); });
}

void HashCheckTimer::CheckPeriodically() {
  const TimePoint next = executor_.clock().Now() + options_.periodic;
  if (IsLeader()) {
    if (const auto checked = checks_.Periodic(); !checked.has_value())
      KV_WARN("failed to check hash KV", {"error", checked.error().message});
  }
  executor_.PostAt(next, [this] { CheckPeriodically(); });
}

void HashCheckTimer::CheckCompactions() {
  if (IsLeader()) checks_.OfCompactions();
  executor_.PostAt(executor_.clock().Now() + options_.of_compactions,
                   [this] { CheckCompactions(); });
}

}  // namespace kvorum::server
