#include "base/text/human_bytes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace kvorum {

std::string HumanBytes(std::uint64_t size_bytes) {
  constexpr auto kSuffixes =
      std::to_array<std::string_view>({"B", "kB", "MB", "GB", "TB", "PB", "EB"});
  if (size_bytes < 10) return fmt::format("{} B", size_bytes);
  auto suffix = kSuffixes.begin();
  std::uint64_t unit = 1;
  while (size_bytes / unit >= 1000) {
    unit *= 1000;
    ++suffix;
  }
  const double value =
      std::floor(static_cast<double>(size_bytes) / static_cast<double>(unit) * 10 + 0.5) / 10;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, *suffix);
}

}  // namespace kvorum
