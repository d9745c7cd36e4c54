// Checks of flags' values, as Go's package flag makes them. Each error is the reason that goes
// behind the flag's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::server {

// The fault of a value, nothing if it is fine.
using ValueProblem = std::optional<std::string>;

// Of a number that was not read: syntax or size.
std::string NumberProblem(const Error& error);
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
