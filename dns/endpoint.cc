#include "dns/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text/parse_number.h"

namespace kvorum::dns {
namespace {

constexpr std::size_t kMaxHostBytes = 253;
constexpr std::size_t kMaxValueBytes = 300;  // no host and port are longer

template <class Address>
bool SetAddress(int family, std::string_view text, Endpoint& endpoint) {
  Address address{};
  if (inet_pton(family, std::string(text).c_str(), address.data()) != 1) return false;
  endpoint.host = address;
  return true;
}

// 0: it is malformed.
std::uint16_t ParsePort(std::string_view text) {
  return ParseNumber<std::uint16_t>(text).value_or(0);
}

bool SetHostName(std::string_view text, Endpoint& endpoint) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.size() > kMaxHostBytes) return false;
  Name name;
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view label = text.substr(0, dot);
    if (!IsHostLabel(label)) return false;
    name.emplace_back(label);
    if (dot == std::string_view::npos) break;
    text.remove_prefix(dot + 1);
  }
  // Digits alone are an address that is written wrongly, not a name.
  if (std::ranges::all_of(name.back(), [](char c) { return c >= '0' && c <= '9'; })) return false;
  endpoint.host = std::move(name);
  return true;
}

}  // namespace

bool IsHostLabel(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabelBytes && std::ranges::all_of(label, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

std::optional<Host> ParseHost(std::string_view text) {
  std::optional<Endpoint> endpoint = ParseEndpoint(text);
  if (!endpoint || endpoint->port != 0) return std::nullopt;
  return std::move(endpoint->host);
}

std::optional<Endpoint> ParseEndpoint(std::string_view value) {
  // inet_pton stops at a zero byte.
  if (value.size() > kMaxValueBytes || value.contains('\0')) return std::nullopt;
  // In place: g++ 12 takes a moved one for uninitialized.
  std::optional<Endpoint> endpoint(std::in_place);
  if (SetAddress<Ipv6>(AF_INET6, value, *endpoint)) return endpoint;
  const std::size_t colon = value.rfind(':');
  if (colon != std::string_view::npos && !value.ends_with(']')) {
    endpoint->port = ParsePort(value.substr(colon + 1));
    if (endpoint->port == 0) return std::nullopt;
    value = value.substr(0, colon);
  }
  const bool has_host =
      value.starts_with('[') && value.ends_with(']')
          ? SetAddress<Ipv6>(AF_INET6, value.substr(1, value.size() - 2), *endpoint)
          : SetAddress<Ipv4>(AF_INET, value, *endpoint) || SetHostName(value, *endpoint);
  if (!has_host) endpoint.reset();
  return endpoint;
}

}  // namespace kvorum::dns
