// The values of flags as Go's packages flag and strconv read them. Each error is the reason that
// goes behind the flag's name.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::server {

std::optional<bool> ParseBool(std::string_view text);

// Decimal, or with the prefixes 0x, 0o, 0b, or 0 for octal numbers; underscores may stand between
// digits. Of the unsigned one without a sign.
std::expected<std::int64_t, std::string> ParseSigned(std::string_view text);
std::expected<std::uint64_t, std::string> ParseUnsigned(std::string_view text);

// The fault of a value, nothing if it is fine.
using ValueProblem = std::optional<std::string>;
ValueProblem CheckSigned(std::string_view text);
ValueProblem CheckUnsigned(std::string_view text);
ValueProblem CheckUnsigned32(std::string_view text);
ValueProblem CheckDuration(std::string_view text);
ValueProblem CheckUrls(std::string_view text);  // no URL at all keeps the default
ValueProblem CheckOrigins(std::string_view text);
ValueProblem CheckFeatureGates(std::string_view text);
ValueProblem CheckClusterState(std::string_view text);
ValueProblem CheckDiscoveryFallback(std::string_view text);
ValueProblem CheckV2Deprecation(std::string_view text);

}  // namespace kvorum::server
