// Measurements as kvorum-bench prints them: fields of a JSON object, or words for a reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/load/histogram.h"

namespace kvorum::bench {

double Micros(std::uint64_t nanos);
std::string JsonText(std::string_view text);  // quoted
// Quantiles in microseconds, without braces.
std::string LatencyJson(const Histogram& latency);
std::string LatencyText(const Histogram& latency);

}  // namespace kvorum::bench
