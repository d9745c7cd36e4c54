// Go's notation of durations, as flags and arguments have them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum {

// "300ms", "1h2m3.5s", "-2s", "0". kInvalidArgument for anything else, with the text of Go's.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// "1h2m3.5s", "1.234567ms", "0s".
std::string FormatDuration(std::chrono::nanoseconds duration);

}  // namespace kvorum
