#include "server/replica/upkeep/auto_compaction.h"

#include <string>
#include <utility>

#include "base/api_errors.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"

namespace kvorum::server {
namespace {

using Mode = CompactionPolicy::Mode;

// etcd's lines, word for word: operators' rules match them.
struct Lines {
  std::string_view starting;
  std::string_view completed;
  std::string_view failed;
};
constexpr Lines kPeriodicLines{"starting auto periodic compaction",
                               "completed auto periodic compaction",
                               "failed auto periodic compaction"};
constexpr Lines kRevisionLines{"starting auto revision compaction",
                               "completed auto revision compaction",
                               "failed auto revision compaction"};

const Lines& LinesOf(const CompactionPolicy& policy) {
  return policy.mode == Mode::kPeriodic ? kPeriodicLines : kRevisionLines;
}

// Calls `log` with the field that tells the policy.
template <class Log>
void WithRetention(const CompactionPolicy& policy, const Log& log) {
  if (policy.mode == Mode::kPeriodic) {
    const std::string period = FormatDuration(policy.period);
    log(LogField{"compact-period", period});
  } else {
    log(LogField{"revision-compaction-retention", policy.kept_revisions});
  }
}

}  // namespace

void AutoCompaction::Start() {
  if (policy_.mode == Mode::kOff) return;
  executor_.Post([this] { WaitForTurn(); });
}

void AutoCompaction::Stop() {
  executor_.Post([this] { stopped_ = true; });
}

void AutoCompaction::WaitForTurn() {
  schedule_.Sample(hooks_.revision());
  executor_.PostAt(executor_.clock().Now() + schedule_.interval(), [this] { TakeTurn(); });
}

void AutoCompaction::TakeTurn() {
  if (stopped_) return;
  const raft::Term term = hooks_.leading_term();
  const auto due = schedule_.Due(executor_.clock().Now(), hooks_.revision(), term == 0);
  if (!due.has_value()) return WaitForTurn();
  Compact(*due, term);
}

void AutoCompaction::Compact(std::int64_t revision, raft::Term term) {
  WithRetention(policy_, [&](const LogField& retention) {
    KV_INFO(LinesOf(policy_).starting, {"revision", revision}, retention);
  });
  const TimePoint started = executor_.clock().Now();
  hooks_.compact(revision, term, [this, revision, started](Result<void> outcome) {
    executor_.Post([this, revision, started, outcome = std::move(outcome)] {
      Compacted(revision, started, outcome);
    });
  });
}

void AutoCompaction::Compacted(std::int64_t revision, TimePoint started,
                               const Result<void>& outcome) {
  if (stopped_) return;
  const TimePoint now = executor_.clock().Now();
  WithRetention(policy_, [&](const LogField& retention) {
    if (outcome.has_value() || outcome.error() == kErrCompacted) {
      KV_INFO(LinesOf(policy_).completed, {"revision", revision}, retention,
              {"took", FormatDuration(now - started)});
      schedule_.Compacted(revision, now);
    } else {
      KV_WARN(LinesOf(policy_).failed, {"revision", revision}, retention,
              {"retry-interval", FormatDuration(schedule_.interval())},
              {"error", outcome.error().message});
    }
  });
  WaitForTurn();
}

}  // namespace kvorum::server
