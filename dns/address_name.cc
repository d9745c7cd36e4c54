#include "dns/address_name.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

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

std::optional<Data> AddressOf(std::string_view hex) {
  if (const auto v4 = Parse<Ipv4>(hex)) return v4;
  return Parse<Ipv6>(hex);
}

}  // namespace kvorum::dns
