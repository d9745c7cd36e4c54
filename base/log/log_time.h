// A time as log lines write it.
#pragma once

#include <cstdint>
#include <string>

namespace kvorum {

// In the local time zone: "2006-01-02T15:04:05.000000Z".
std::string LogTime(std::int64_t wall_ns);

}  // namespace kvorum
