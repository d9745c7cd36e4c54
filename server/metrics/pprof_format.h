// A profile as `go tool pprof` reads it: a gzip file of pprof's protobuf (profile.proto), with the
// names of functions in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "server/metrics/cpu_profiler.h"

namespace kvorum::server {

struct ProfileTimes {
  std::int64_t begin_unix_ns = 0;
  std::chrono::nanoseconds duration{};
};

std::string EncodePprof(const CpuProfile& profile, const ProfileTimes& times);

}  // namespace kvorum::server
