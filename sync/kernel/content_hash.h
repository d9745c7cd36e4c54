// The version of a resource: 128 bits of the SHA-256 of its bytes, in hexadecimal on the wire.
// Equal bytes have equal versions on every machine and after every restart.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::sync {

struct ContentHash {
  std::array<std::uint8_t, 16> bytes{};

  friend auto operator<=>(const ContentHash&, const ContentHash&) = default;
  std::string Hex() const;
  // Returns nothing unless the text is one that Hex gives.
  static std::optional<ContentHash> FromHex(std::string_view text);
};

ContentHash HashOf(std::string_view content);

}  // namespace kvorum::sync
