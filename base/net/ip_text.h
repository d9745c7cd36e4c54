// Texts of IP addresses, by the rule of Go's netip.ParseAddr: they decide what a URL may have in
// brackets, and on which hosts a server can listen. Decimal parts have no leading zeros, `::`
// stands for at least one group of zeros, a zone follows `%`.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace kvorum {

enum class IpKind : std::uint8_t { kV4, kV6, kV6WithZone };

// Returns the kind of address, or the reason why the text is not an address.
std::expected<IpKind, std::string> ClassifyIp(std::string_view text);

}  // namespace kvorum
