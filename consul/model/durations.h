// Durations of Consul's API: a text in Go's notation or a number. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::consul {

using sync::Json;

// A text ("10s"; "" is an error) or a number of nanoseconds.
Result<Duration> DurationOf(const Json& value);
// A session's delay: a number below 1,000 is in seconds, a greater one in nanoseconds; at most 60
// s, at least nothing.
Result<Duration> LockDelayOf(const Json& value);
// A session's time to live: 10 s to 86,400 s, with the API's texts; an empty text is 0: none.
Result<Duration> SessionTtlOf(std::string_view text);
// The number that fits, or the nearest one.
std::int64_t NanosecondsOf(double number);

}  // namespace kvorum::consul
