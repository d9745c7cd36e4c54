#include "base/url.h"

#include <arpa/inet.h>

#include <charconv>

namespace kvorum {
namespace {

constexpr std::string_view kSchemes[] = {"http", "https", "unix", "unixs"};

bool KnownScheme(std::string_view scheme) {
  for (const std::string_view known : kSchemes) {
    if (scheme == known) return true;
  }
  return false;
}

}  // namespace

Result<Url> Url::Parse(std::string_view text) {
  Url url;
  url.text_ = text;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || !KnownScheme(text.substr(0, colon))) {
    return Fail(Code::kInvalidArgument,
                "URL scheme must be http, https, unix, or unixs: " + std::string(text));
  }
  url.scheme_ = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 3);
  if (url.unix_socket()) {
    if (rest.empty()) {
      return Fail(Code::kInvalidArgument, "URL address names no socket: " + std::string(text));
    }
    url.socket_path_ = rest;
    return url;
  }
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    if (slash + 1 != rest.size()) {
      return Fail(Code::kInvalidArgument, "URL must not contain a path: " + std::string(text));
    }
    rest = rest.substr(0, slash);
  }
  const std::size_t port_colon = rest.rfind(':');
  const bool in_brackets = rest.ends_with(']');
  if (port_colon == std::string_view::npos || in_brackets) {
    return Fail(Code::kInvalidArgument,
                "URL address does not have the form \"host:port\": " + std::string(text));
  }
  const std::string_view port = rest.substr(port_colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port_);
  if (error != std::errc{} || end != port.data() + port.size()) {
    return Fail(Code::kInvalidArgument, "invalid port in URL: " + std::string(text));
  }
  std::string_view host = rest.substr(0, port_colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  url.host_ = host;
  return url;
}

bool Url::IsIpOrLocalhost() const {
  if (host_ == "localhost" || host_.empty()) return true;
  in_addr v4{};
  in6_addr v6{};
  const std::string without_zone = host_.substr(0, host_.find('%'));
  return inet_pton(AF_INET, host_.c_str(), &v4) == 1 ||
         inet_pton(AF_INET6, without_zone.c_str(), &v6) == 1;
}

Result<std::vector<Url>> ParseUrls(std::string_view list) {
  std::vector<Url> urls;
  while (true) {
    const std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    KV_TRY(Url url, Url::Parse(item));
    urls.push_back(std::move(url));
    if (comma == std::string_view::npos) return urls;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace kvorum
