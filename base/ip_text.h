// Texts of IP addresses, by the rule of Go's netip.ParseAddr: what a URL may have in its brackets,
// and which hosts a server can listen on. Decimal parts without leading zeros, `::` for one group
// of zeros at least, a zone behind `%`.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace kvorum {

enum class IpKind : std::uint8_t { kV4, kV6, kV6WithZone };

// The kind of address that a text is, or the reason why it is none.
std::expected<IpKind, std::string> ClassifyIp(std::string_view text);

}  // namespace kvorum
