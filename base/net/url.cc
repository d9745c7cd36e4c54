#include "base/net/url.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/net/ip_text.h"
#include "base/net/uri.h"
#include "base/text/parse_number.h"
#include "base/words.h"

namespace kvorum {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

// White space in Unicode's sense.
constexpr auto kSpaces = std::to_array<std::string_view>({" ",
                                                          "\t",
                                                          "\n",
                                                          "\v",
                                                          "\f",
                                                          "\r",
                                                          "\xc2\x85",
                                                          "\xc2\xa0",
                                                          "\xe1\x9a\x80",
                                                          "\xe2\x80\x80",
                                                          "\xe2\x80\x81",
                                                          "\xe2\x80\x82",
                                                          "\xe2\x80\x83",
                                                          "\xe2\x80\x84",
                                                          "\xe2\x80\x85",
                                                          "\xe2\x80\x86",
                                                          "\xe2\x80\x87",
                                                          "\xe2\x80\x88",
                                                          "\xe2\x80\x89",
                                                          "\xe2\x80\x8a",
                                                          "\xe2\x80\xa8",
                                                          "\xe2\x80\xa9",
                                                          "\xe2\x80\xaf",
                                                          "\xe2\x81\x9f",
                                                          "\xe3\x80\x80"});

std::string_view TrimSpace(std::string_view text) {
  const auto at_start = [&](std::string_view space) { return text.starts_with(space); };
  const auto at_end = [&](std::string_view space) { return text.ends_with(space); };
  for (auto it = std::ranges::find_if(kSpaces, at_start); it != kSpaces.end();
       it = std::ranges::find_if(kSpaces, at_start)) {
    text.remove_prefix(it->size());
  }
  for (auto it = std::ranges::find_if(kSpaces, at_end); it != kSpaces.end();
       it = std::ranges::find_if(kSpaces, at_end)) {
    text.remove_suffix(it->size());
  }
  return text;
}

std::unexpected<Error> Refuse(std::string reason) {
  return Fail(Code::kInvalidArgument, std::move(reason));
}

}  // namespace

Result<Url> Url::Parse(std::string_view text) {
  const std::string trimmed(TrimSpace(text));
  auto uri = Uri::Parse(trimmed);
  if (!uri.has_value()) return Refuse(std::move(uri).error());
  Url url;
  url.text_ = uri->ToString();
  url.scheme_ = uri->scheme;
  if (url.unix_socket()) {
    url.socket_path_ = uri->host + uri->path;
    return url;
  }
  if (uri->scheme != "http" && uri->scheme != "https")
    return Refuse("URL scheme must be http, https, unix, or unixs: " + trimmed);
  auto address = SplitHostPort(uri->host);
  if (!address.has_value())
    return Refuse("URL address does not have the form \"host:port\": " + trimmed);
  if (!uri->path.empty()) return Refuse("URL must not contain a path: " + trimmed);
  url.host_ = std::move(address->host);
  url.port_text_ = std::move(address->port);
  // 0 is a number that is out of range.
  url.port_ = ParseNumber<std::uint16_t>(url.port_text_).value_or(0);
  return url;
}

Result<void> Url::CheckAddress() const {
  if (unix_socket()) {
    if (socket_path_.empty()) return Refuse("URL address names no socket: " + text_);
    return {};
  }
  if (port_ == 0 && port_text_.find_first_not_of('0') != std::string::npos)
    return Refuse("address " + port_text_ + ": invalid port");
  return {};
}

std::uint16_t Url::dial_port() const {
  if (!port_text_.empty()) return port_;
  return tls() ? kHttpsPort : kHttpPort;
}

bool Url::IsIpOrLocalhost() const {
  if (host_ == "localhost") return true;
  const auto kind = ClassifyIp(host_);
  return kind.has_value() && *kind != IpKind::kV6WithZone;
}

Result<std::vector<Url>> ParseUrlList(const std::vector<std::string>& texts) {
  if (texts.empty()) return Refuse("no valid URLs given");
  std::vector<Url> urls;
  urls.reserve(texts.size());
  for (const std::string& text : texts) {
    KV_TRY(Url url, Url::Parse(text));
    urls.push_back(std::move(url));
  }
  std::ranges::sort(urls, {}, &Url::text);
  return urls;
}

Result<std::vector<Url>> ParseUrls(std::string_view list) {
  const auto parts = Split(list, ',');
  KV_TRY(std::vector<Url> urls, ParseUrlList({parts.begin(), parts.end()}));
  const auto again = std::ranges::unique(urls, {}, &Url::text);
  urls.erase(again.begin(), again.end());
  return urls;
}

}  // namespace kvorum
