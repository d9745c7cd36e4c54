#include "server/process/settings/compaction_retention.h"

#include <limits>
#include <string>

#include "base/text/duration_text.h"
#include "base/text/go_number.h"
#include "base/text/go_quote.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kPrefix = "error parsing CompactionRetention: ";
constexpr std::int64_t kMostHours =
    std::numeric_limits<std::int64_t>::max() / Duration(std::chrono::hours(1)).count();

// The nanoseconds of a period, or the number of revisions.
Result<std::int64_t> Count(bool is_periodic, std::string_view retention) {
  const auto refuse = [](const std::string& why) {
    return Fail(Code::kInvalidArgument, std::string(kPrefix) + why);
  };
  if (const auto plain = ParseInt(retention, 10); plain.has_value() && *plain >= 0) {
    if (!is_periodic) return *plain;
    if (*plain > kMostHours) return refuse("time: invalid duration " + GoQuote(retention));
    return *plain * Duration(std::chrono::hours(1)).count();
  }
  const auto duration = ParseDuration(retention);
  if (!duration.has_value()) return refuse(duration.error().message);
  if (duration->count() < 0) return refuse("negative duration " + GoQuote(retention));
  return duration->count();
}

}  // namespace

Result<CompactionPolicy> ParseCompactionRetention(std::string_view mode,
                                                  std::string_view retention) {
  if (retention.empty()) return CompactionPolicy{};
  const bool is_periodic = mode == "periodic";
  KV_TRY(const std::int64_t count, Count(is_periodic, retention));
  CompactionPolicy policy;
  if (count == 0) return policy;
  if (is_periodic) {
    policy.mode = CompactionPolicy::Mode::kPeriodic;
    policy.period = Duration(count);
  } else {
    policy.mode = CompactionPolicy::Mode::kRevision;
    policy.kept_revisions = count;
  }
  return policy;
}

}  // namespace kvorum::server
