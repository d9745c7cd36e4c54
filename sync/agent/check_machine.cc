#include "sync/agent/check_machine.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "sync/kernel/jitter.h"

namespace kvorum::sync {
namespace {

// The prober's own answer at the time-out says more.
constexpr Duration kGrace = std::chrono::seconds(1);

std::string NobodyReported(const CheckDefinition& check, std::string_view last_output) {
  if (check.details.empty()) return "no report within the time to live";
  if (last_output.empty()) return "TTL expired";
  return std::string("TTL expired (last output before timeout follows): ").append(last_output);
}

}  // namespace

Duration TtlLeft(const Check& check, std::int64_t unix_ns) {
  const Duration interval = check.definition.interval;
  if (check.reported_unix_ns == 0) return interval;
  return interval - std::clamp(Duration(unix_ns - check.reported_unix_ns), Duration(), interval);
}

void ExpireTtl(Check& check, std::int64_t unix_ns) {
  if (check.definition.kind != CheckKind::kTtl || check.health == Health::kCritical) return;
  if (TtlLeft(check, unix_ns) > Duration::zero()) return;
  check.health = Health::kCritical;
  check.output = CleanOutput(NobodyReported(check.definition, check.output));
}

CheckMachine::CheckMachine(const Check& check, const Clock& clock, Rng& rng)
    : definition_(check.definition), health_(check.health) {
  const TimePoint now = clock.Now();
  // A ttl check that is critical already has nothing to lose.
  if (definition_.kind != CheckKind::kTtl) {
    timer_.Set(now + Stagger(rng, definition_.interval));
  } else if (health_ != Health::kCritical) {
    timer_.Set(now + TtlLeft(check, clock.WallNanos()));
    if (!definition_.details.empty()) last_output_ = check.output;
  }
}

bool CheckMachine::TakeProbe(TimePoint now) {
  if (definition_.kind == CheckKind::kTtl || is_probing_ || !timer_.TakeDue(now)) return false;
  is_probing_ = true;
  timer_.Set(now + definition_.timeout + kGrace);
  return true;
}

ProbeResult CheckMachine::ProbeEnded(ProbeResult result, TimePoint now) {
  is_probing_ = false;
  timer_.Set(now + definition_.interval);
  if (std::exchange(is_overdue_, false))
    return {.health = health_, .output = std::move(result.output)};
  return Count(std::move(result));
}

ProbeResult CheckMachine::Count(ProbeResult result) {
  if (result.health == Health::kCritical) {
    successes_ = 0;
    ++failures_;
    const int before_warning = definition_.failures_before_warning;
    if (failures_ >= definition_.failures_before_critical) {
      health_ = Health::kCritical;
    } else if (before_warning > 0 && failures_ >= before_warning) {
      health_ = Health::kWarning;
    }
    failures_ = std::min(failures_, definition_.failures_before_critical);
  } else {
    failures_ = 0;
    if (++successes_ >= definition_.successes_before_passing) health_ = result.health;
    successes_ = std::min(successes_, definition_.successes_before_passing);
  }
  return {.health = health_, .output = std::move(result.output)};
}

void CheckMachine::Reported(Health health, TimePoint now, std::string_view output) {
  health_ = health;
  if (!definition_.details.empty()) last_output_ = CleanOutput(output);
  timer_.Set(now + definition_.interval);
}

std::optional<ProbeResult> CheckMachine::TakeExpired(TimePoint now) {
  const bool is_ttl = definition_.kind == CheckKind::kTtl;
  if ((!is_ttl && !is_probing_) || !timer_.TakeDue(now)) return std::nullopt;
  if (!is_ttl) {
    is_overdue_ = true;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(definition_.timeout);
    return Count({.output = "no answer within " + std::to_string(ms.count()) + " ms"});
  }
  health_ = Health::kCritical;
  return ProbeResult{.health = health_, .output = NobodyReported(definition_, last_output_)};
}

}  // namespace kvorum::sync
