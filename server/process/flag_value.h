// Checks of flags' values, as made by Go's package flag. Each error is the reason that follows the
// flag's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::server {

// The fault of a value, nothing if it is fine.
using ValueProblem = std::optional<std::string>;

// For a number that could not be read: syntax or size.
std::string NumberProblem(const Error& error);
ValueProblem CheckSigned(std::string_view text);
ValueProblem CheckUnsigned(std::string_view text);
ValueProblem CheckUnsigned32(std::string_view text);
ValueProblem CheckDuration(std::string_view text);
ValueProblem CheckUrls(std::string_view text);  // an empty list keeps the default
ValueProblem CheckOrigins(std::string_view text);
ValueProblem CheckFeatureGates(std::string_view text);
ValueProblem CheckClusterState(std::string_view text);
ValueProblem CheckDiscoveryFallback(std::string_view text);
ValueProblem CheckV2Deprecation(std::string_view text);

}  // namespace kvorum::server
