#include "api/version_number.h"

#include <array>

#include "base/text/parse_number.h"
#include "base/words.h"

namespace kvorum::server {

std::optional<Version> Version::Parse(std::string_view text) {
  const auto parts = Split(text.substr(0, text.find('-')), '.');
  Version version;
  const std::array numbers = {&version.major, &version.minor, &version.patch};
  if (parts.size() != numbers.size()) return std::nullopt;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = ParseNumber<std::uint32_t>(parts[i]);
    if (!number.has_value()) return std::nullopt;
    *numbers[i] = *number;
  }
  return version;
}

std::string Version::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace kvorum::server
