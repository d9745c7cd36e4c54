#include "server/peer/transport/probe.h"

#include <charconv>
#include <ctime>
#include <nlohmann/json.hpp>

namespace kvorum::server {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kSecondsTextBytes = 19;  // 2026-08-01T12:00:00
// 64 bits of nanoseconds end in 2262.
constexpr int kLastYear = 2200;

}  // namespace

std::string EncodeProbeAnswer(std::int64_t wall_ns) {
  const std::time_t seconds = wall_ns / kSecondNs;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
  std::string fraction = std::to_string(wall_ns % kSecondNs);
  fraction.insert(0, 9 - fraction.size(), '0');
  return R"({"OK":true,"Now":")" + std::string(text, size) + "." + fraction + "Z\"}\n";
}

std::optional<std::int64_t> DecodeProbeAnswer(std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("OK") || json["OK"] != true || !json.contains("Now") ||
      !json["Now"].is_string()) {
    return std::nullopt;
  }
  const std::string text = json["Now"].get<std::string>();
  std::tm at{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &at);
  if (rest == nullptr || text.size() < kSecondsTextBytes) return std::nullopt;
  if (const int year = at.tm_year + 1900; year < 1970 || year > kLastYear) return std::nullopt;
  std::int64_t ns = timegm(&at) * kSecondNs;
  if (*rest == '.') {
    std::int64_t unit = kSecondNs / 10;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) ns += (*rest - '0') * unit;
  }
  if (*rest == 'Z' && rest[1] == '\0') return ns;
  // Or an offset from UTC: +02:00.
  int hours = 0;
  int minutes = 0;
  const bool is_offset = (*rest == '+' || *rest == '-') && std::string_view(rest).size() == 6 &&
                         rest[3] == ':' &&
                         std::from_chars(rest + 1, rest + 3, hours).ptr == rest + 3 &&
                         std::from_chars(rest + 4, rest + 6, minutes).ptr == rest + 6;
  if (!is_offset) return std::nullopt;
  const std::int64_t offset = (hours * 60 + minutes) * 60 * kSecondNs;
  return *rest == '+' ? ns - offset : ns + offset;
}

}  // namespace kvorum::server
