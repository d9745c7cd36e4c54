// A version as members tell theirs to each other and as databases state it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::server {

struct Version {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;

  // "3.7.1", maybe with a "-suffix"; nullopt for anything else.
  static std::optional<Version> Parse(std::string_view text);
  std::string text() const;
  friend auto operator<=>(const Version&, const Version&) = default;
};

// The version of a cluster while one of its members is unknown, and the oldest that this program
// supports.
inline constexpr Version kLowestClusterVersion{.major = 3, .minor = 0, .patch = 0};
inline constexpr Version kOwnClusterVersion{.major = 3, .minor = 7, .patch = 0};

}  // namespace kvorum::server
