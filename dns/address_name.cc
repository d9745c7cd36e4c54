#include "dns/address_name.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "base/text/parse_number.h"

namespace kvorum::dns {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

template <class Address>
std::optional<Data> Parse(std::string_view hex) {
  Address address{};
  if (hex.size() != address.size() * 2) return std::nullopt;
  for (std::size_t at = 0; at < hex.size(); ++at) {
    const std::size_t digit = kHexDigits.find(hex[at]);
    if (digit == std::string_view::npos) return std::nullopt;
    address[at / 2] = static_cast<std::uint8_t>(std::size_t{address[at / 2]} << 4U | digit);
  }
  return address;
}

}  // namespace

std::optional<std::string> HexOf(const Host& host) {
  return std::visit(
      []<class T>(const T& address) -> std::optional<std::string> {
        if constexpr (std::is_same_v<T, Name>) {
          return std::nullopt;
        } else {
          std::string hex;
          for (const std::uint8_t byte : address) {
            hex += kHexDigits[byte >> 4U];
            hex += kHexDigits[byte & 0xfU];
          }
          return hex;
        }
      },
      host);
}

std::optional<Host> ReverseAddressOf(const Name& name) {
  constexpr std::size_t kV4Labels = 6;
  constexpr std::size_t kV6Labels = 34;
  const bool is_v4 = name.size() == kV4Labels && name[4] == "in-addr";
  const bool is_v6 = name.size() == kV6Labels && name[kV6Labels - 2] == "ip6";
  if ((!is_v4 && !is_v6) || name.back() != "arpa") return std::nullopt;
  if (is_v4) {
    Ipv4 address{};
    for (std::size_t at = 0; at < address.size(); ++at) {
      const std::string& label = name[address.size() - 1 - at];
      const auto number = ParseNumber<std::uint8_t>(label);
      if (!number || label != std::to_string(*number)) return std::nullopt;
      address[at] = *number;
    }
    return address;
  }
  std::string hex;
  for (std::size_t at = 2; at < kV6Labels; ++at) {
    const std::string& label = name[kV6Labels - 1 - at];
    if (label.size() != 1) return std::nullopt;
    hex += label;
  }
  const auto address = Parse<Ipv6>(hex);
  return address ? std::optional<Host>(std::get<Ipv6>(*address)) : std::nullopt;
}

std::optional<Data> AddressOf(std::string_view hex) {
  if (const auto v4 = Parse<Ipv4>(hex)) return v4;
  return Parse<Ipv6>(hex);
}

}  // namespace kvorum::dns
