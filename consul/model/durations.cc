#include "consul/model/durations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text/duration_text.h"

namespace kvorum::consul {
namespace {

constexpr Duration kMostLockDelay = std::chrono::seconds(60);
constexpr Duration kLeastTtl = std::chrono::seconds(10);
constexpr Duration kMostTtl = std::chrono::seconds(86'400);
constexpr double kSecondsBelow = 1000;

}  // namespace

std::int64_t NanosecondsOf(double number) {
  constexpr double kBeyond = 9.2e18;
  if (std::isnan(number)) return 0;
  return static_cast<std::int64_t>(std::clamp(number, -kBeyond, kBeyond));
}

Result<Duration> DurationOf(const Json& value) {
  if (value.is_string()) return ParseDuration(value.get_ref<const std::string&>());
  if (value.is_number_integer() && !value.is_number_unsigned())
    return Duration(value.get<std::int64_t>());
  if (value.is_number()) return Duration(NanosecondsOf(value.get<double>()));
  return Fail(Code::kInvalidArgument,
              std::string("cannot decode a duration from ") + value.type_name());
}

Result<Duration> LockDelayOf(const Json& value) {
  KV_TRY(Duration delay, DurationOf(value));
  if (value.is_number() && value.get<double>() < kSecondsBelow)
    delay = Duration(NanosecondsOf(value.get<double>() * 1e9));
  return std::clamp(delay, Duration::zero(), kMostLockDelay);
}

Result<Duration> SessionTtlOf(std::string_view text) {
  if (text.empty()) return Duration::zero();
  const auto ttl = ParseDuration(text);
  if (!ttl) {
    return Fail(Code::kInvalidArgument,
                "Session TTL '" + std::string(text) + "' invalid: " + ttl.error().message);
  }
  if (*ttl != Duration::zero() && (*ttl < kLeastTtl || *ttl > kMostTtl)) {
    return Fail(Code::kInvalidArgument, "Invalid Session TTL '" + std::to_string(ttl->count()) +
                                            "', must be between [10s=24h0m0s]");
  }
  return *ttl;
}

}  // namespace kvorum::consul
