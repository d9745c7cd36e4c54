#include "bench/load/report_text.h"

#include <fmt/format.h>

namespace kvorum::bench {

double Micros(std::uint64_t nanos) {
  constexpr double kMicro = 1e-3;  // microseconds per nanosecond
  return static_cast<double>(nanos) * kMicro;
}

std::string JsonText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  }
  return quoted + '"';
}

std::string LatencyJson(const Histogram& latency) {
  return fmt::format(
      R"("p50_us":{:.1f},"p90_us":{:.1f},"p99_us":{:.1f},"p999_us":{:.1f},"max_us":{:.1f})",
      Micros(latency.Quantile(0.5)), Micros(latency.Quantile(0.9)), Micros(latency.Quantile(0.99)),
      Micros(latency.Quantile(0.999)), Micros(latency.max()));
}

std::string LatencyText(const Histogram& latency) {
  return fmt::format("p50 {:.0f} p90 {:.0f} p99 {:.0f} p99.9 {:.0f} max {:.0f} us",
                     Micros(latency.Quantile(0.5)), Micros(latency.Quantile(0.9)),
                     Micros(latency.Quantile(0.99)), Micros(latency.Quantile(0.999)),
                     Micros(latency.max()));
}

}  // namespace kvorum::bench
