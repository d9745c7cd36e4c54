#include "api/version_number.h"

#include <charconv>

namespace kvorum::server {

std::optional<Version> Version::Parse(std::string_view text) {
  text = text.substr(0, text.find('-'));
  Version version;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::uint32_t* part : {&version.major, &version.minor, &version.patch}) {
    if (part != &version.major) {
      if (at == end || *at != '.') return std::nullopt;
      ++at;
    }
    const auto [next, error] = std::from_chars(at, end, *part);
    if (error != std::errc{}) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return version;
}

std::string Version::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace kvorum::server
