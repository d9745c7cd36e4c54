// Durations in Go's notation, as in flags and arguments.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum {

// Reads "300ms", "1h2m3.5s", "-2s", "0". Anything else is kInvalidArgument, with Go's text.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// Writes "1h2m3.5s", "1.234567ms", "0s".
std::string FormatDuration(std::chrono::nanoseconds duration);

}  // namespace kvorum
