#include "sync/checks/http_target.h"

#include <algorithm>
#include <vector>

#include "base/letter_case.h"
#include "base/text/percent.h"

namespace kvorum::sync {
namespace {

bool IsControlByte(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool IsSchemeCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '-' || c == '.';
}

// Empty: the text begins with none.
std::string_view SchemeOf(std::string_view text) {
  const auto end =
      static_cast<std::size_t>(std::ranges::find_if_not(text, IsSchemeCharacter) - text.begin());
  return end > 0 && end < text.size() && text[end] == ':' ? text.substr(0, end)
                                                          : std::string_view();
}

// Bytes that stand in no URL are escaped, as Go does.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool stays = static_cast<unsigned char>(c) > 0x20 &&
                       static_cast<unsigned char>(c) < 0x7f &&
                       !std::string_view("\"<>\\^`{|}").contains(c);
    if (stays)
      escaped += c;
    else
      AppendPercentEscape(escaped, c);
  }
  return escaped;
}

// RFC 3986, 5.2.4.
std::string WithoutDots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool ends_in_folder = false;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    ends_in_folder = part == "." || part == "..";
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!ends_in_folder) kept.push_back(part);
  }
  std::string clean;
  for (const std::string_view part : kept) clean.append("/").append(part);
  if (ends_in_folder || clean.empty()) clean += '/';
  return clean;
}

// The text behind "//": the authority, and the path with its query.
HttpTarget TargetBehind(bool is_https, std::string_view rest) {
  HttpTarget target{.is_https = is_https};
  rest = rest.substr(0, rest.find('#'));
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  target.path = rest.substr(authority.size());
  if (!target.path.starts_with('/')) target.path.insert(0, 1, '/');
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) {
    target.authority = authority;
  } else {
    target.user = PercentDecode(authority.substr(0, at));
    if (!target.user.contains(':')) target.user += ':';
    target.authority = authority.substr(at + 1);
  }
  return target;
}

// In lower case, without its port and brackets.
std::string HostOf(const HttpTarget& target) {
  std::string_view host = target.authority;
  if (host.starts_with('[')) return LowerCase(std::string(host.substr(1, host.find(']') - 1)));
  return LowerCase(std::string(host.substr(0, host.rfind(':'))));
}

std::unexpected<Error> BadLocation(std::string text) {
  return Fail(Code::kInvalidArgument, std::move(text));
}

// A reference without a host: it stays where it is.
HttpTarget ResolvePath(const HttpTarget& base, std::string_view reference) {
  reference = reference.substr(0, reference.find('#'));
  HttpTarget target = base;
  if (reference.empty()) return target;
  const std::string_view base_path = std::string_view(base.path).substr(0, base.path.find('?'));
  const std::string_view path = reference.substr(0, reference.find('?'));
  const std::string_view query = reference.substr(path.size());
  if (path.empty())
    target.path = base_path;
  else if (path.starts_with('/'))
    target.path = WithoutDots(path);
  else
    target.path =
        WithoutDots(std::string(base_path.substr(0, base_path.rfind('/') + 1)).append(path));
  target.path += query;
  return target;
}

}  // namespace

HttpTarget ParseTarget(const std::string& url) {
  return TargetBehind(url.starts_with("https://"),
                      std::string_view(url).substr(url.find("://") + 3));
}

std::string UrlOf(const HttpTarget& target) {
  return (target.is_https ? "https://" : "http://") + target.authority + target.path;
}

Result<HttpTarget> ResolveLocation(const HttpTarget& base, std::string_view location) {
  if (std::ranges::any_of(location, IsControlByte))
    return BadLocation("the redirect's Location has a control character");
  const std::string text = Escaped(location);
  std::string_view rest = text;
  const std::string scheme = LowerCase(std::string(SchemeOf(rest)));
  if (!scheme.empty()) {
    rest.remove_prefix(scheme.size() + 1);
    if (scheme != "http" && scheme != "https")
      return BadLocation("unsupported protocol scheme \"" + scheme + "\"");
  }
  if (!rest.starts_with("//")) {
    if (!scheme.empty()) return BadLocation("the redirect's Location has no host");
    return ResolvePath(base, rest);
  }
  const bool is_https = scheme.empty() ? base.is_https : scheme == "https";
  HttpTarget target = TargetBehind(is_https, rest.substr(2));
  if (HostOf(target).empty()) return BadLocation("the redirect's Location has no host");
  if (target.authority.contains('%'))
    return BadLocation("the redirect's Location has a host that is not one");
  const std::string query(target.path.substr(std::min(target.path.find('?'), target.path.size())));
  target.path = WithoutDots(target.path.substr(0, target.path.size() - query.size())) + query;
  return target;
}

bool MaySeeSecrets(const HttpTarget& first, const HttpTarget& next) {
  if (first.is_https && !next.is_https) return false;
  const std::string trusted = HostOf(first);
  const std::string asked = HostOf(next);
  if (trusted == asked) return true;
  // Addresses have nothing below them: a name ends in letters.
  const bool is_name = !trusted.empty() && !trusted.contains(':') &&
                       !(trusted.back() >= '0' && trusted.back() <= '9');
  return is_name && asked.ends_with("." + trusted);
}

}  // namespace kvorum::sync
