#include "base/net/uri.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/letter_case.h"
#include "base/net/ip_text.h"
#include "base/text/go_quote.h"
#include "base/text/percent.h"
#include "base/words.h"

namespace kvorum {
namespace {

using Failure = std::unexpected<std::string>;
using Decoded = std::expected<std::string, std::string>;

// The parts of a URI, each with its own set of characters that need no escape.
enum class Part : std::uint8_t { kPath, kHost, kZone, kUser, kFragment };

std::string_view OwnCharacters(Part part) {
  switch (part) {
    case Part::kPath:
      return "$&+,/:;=@";
    case Part::kHost:
    case Part::kZone:
      return "!\"$&'()*+,:;<=>[]";
    case Part::kUser:
      return "$&+,;=";
    case Part::kFragment:
      return "!$&()*+,/:;=?@";
  }
  return {};
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool StandsForItself(char c, Part part) {
  return IsLetter(c) || IsDigit(c) || std::string_view("-._~").contains(c) ||
         OwnCharacters(part).contains(c);
}

std::string Encode(std::string_view text, Part part) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (StandsForItself(c, part)) {
      encoded += c;
    } else {
      AppendPercentEscape(encoded, c);
    }
  }
  return encoded;
}

// A host may escape no ASCII character but the percent sign; a zone only the space and characters
// that a host may have unescaped.
bool MayBeEscaped(char byte, Part part) {
  if (byte == '%') return true;
  if (part == Part::kHost) return static_cast<unsigned char>(byte) >= 0x80;
  if (part == Part::kZone) return byte == ' ' || StandsForItself(byte, Part::kHost);
  return true;
}

Decoded Decode(std::string_view text, Part part) {
  const bool is_host = part == Part::kHost || part == Part::kZone;
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '%') {
      const bool is_ascii = static_cast<unsigned char>(c) < 0x80;
      if (is_host && is_ascii && !StandsForItself(c, part))
        return Failure("invalid character " + GoQuote({&c, 1}) + " in host name");
      decoded += c;
      continue;
    }
    const std::string_view escape = text.substr(i, kPercentEscapeBytes);
    const auto byte = PercentEscapeAt(escape);
    if (!byte.has_value() || !MayBeEscaped(*byte, part))
      return Failure("invalid URL escape " + GoQuote(escape));
    decoded += *byte;
    i += kPercentEscapeBytes - 1;
  }
  return decoded;
}

// Returns the text as written, if that is a valid encoding, else its default encoding.
std::string Reencode(std::string_view written, std::string_view decoded, Part part) {
  const bool is_encoded = std::ranges::all_of(written, [part](char c) {
    return std::string_view("!$&'()*+,;=:@[]%").contains(c) || StandsForItself(c, part);
  });
  return is_encoded ? std::string(written) : Encode(decoded, part);
}

struct SchemeAndRest {
  std::string scheme;
  std::string_view rest;
};
std::expected<SchemeAndRest, std::string> CutScheme(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, [&](const char& c) {
    const bool may_be_first = IsLetter(c);
    return may_be_first ||
           (&c != text.data() && (IsDigit(c) || std::string_view("+-.").contains(c)));
  });
  const auto length = static_cast<std::size_t>(end - text.begin());
  if (end == text.end() || *end != ':') return SchemeAndRest{.scheme = {}, .rest = text};
  if (length == 0) return Failure("missing protocol scheme");
  return SchemeAndRest{.scheme = LowerCase(std::string(text.substr(0, length))),
                       .rest = text.substr(length + 1)};
}

std::expected<void, std::string> CheckPort(std::string_view colon_port) {
  const bool is_port = colon_port.empty() || (colon_port.front() == ':' &&
                                              std::ranges::all_of(colon_port.substr(1), IsDigit));
  if (is_port) return {};
  return Failure("invalid port " + GoQuote(colon_port) + " after host");
}

// `[fe80::1%25eth0]:80`
Decoded ParseBracketed(std::string_view text) {
  const std::size_t end = text.rfind(']');
  if (end == std::string_view::npos) return Failure("missing ']' in host");
  const std::string_view colon_port = text.substr(end + 1);
  KV_RETURN_IF_ERROR(CheckPort(colon_port));
  const std::string_view inside = text.substr(1, end - 1);
  const std::size_t zone_at = std::min(inside.find("%25"), inside.size());
  KV_TRY(std::string address, Decode(inside.substr(0, zone_at), Part::kHost));
  KV_TRY(const std::string zone, Decode(inside.substr(zone_at), Part::kZone));
  address += zone;
  const auto kind = ClassifyIp(address);
  if (!kind.has_value()) return Failure("invalid host: " + kind.error());
  if (*kind == IpKind::kV4) return Failure("invalid IP-literal");
  return "[" + address + "]" + std::string(colon_port);
}

Decoded ParseHost(std::string_view scheme, std::string_view text) {
  const std::size_t bracket = text.rfind('[');
  if (bracket == 0) return ParseBracketed(text);
  if (bracket != std::string_view::npos) return Failure("invalid IP-literal");
  // Other schemes may have lists of hosts with colons between them.
  const bool is_strict = scheme == "http" || scheme == "https";
  const std::size_t colon = is_strict ? text.find(':') : text.rfind(':');
  if (colon != std::string_view::npos) KV_RETURN_IF_ERROR(CheckPort(text.substr(colon)));
  return Decode(text, Part::kHost);
}

std::expected<Uri::User, std::string> ParseUser(std::string_view text) {
  const bool is_valid = std::ranges::all_of(text, [](char c) {
    return IsLetter(c) || IsDigit(c) || std::string_view("-._:~!$&'()*+,;=%@").contains(c);
  });
  if (!is_valid) return Failure("net/url: invalid userinfo");
  const auto [name, password] = Cut(text, ':');
  Uri::User user;
  KV_TRY(user.name, Decode(name, Part::kUser));
  if (!password.has_value()) return user;
  KV_TRY(user.password, Decode(*password, Part::kUser));
  return user;
}

// The host is checked before the user.
std::expected<void, std::string> ParseAuthority(std::string_view text, Uri& uri) {
  const std::size_t at = text.rfind('@');
  const bool has_user = at != std::string_view::npos;
  KV_TRY(uri.host, ParseHost(uri.scheme, has_user ? text.substr(at + 1) : text));
  uri.has_authority = true;
  if (!has_user) return {};
  KV_TRY(uri.user, ParseUser(text.substr(0, at)));
  return {};
}

// Parses everything but the fragment.
std::expected<void, std::string> ParseBeforeFragment(std::string_view text, Uri& uri) {
  const bool has_control = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (has_control) return Failure("net/url: invalid control character in URL");
  KV_TRY(SchemeAndRest cut, CutScheme(text));
  uri.scheme = std::move(cut.scheme);
  const auto [before_query, query] = Cut(cut.rest, '?');
  if (query.has_value()) uri.query = *query;
  std::string_view rest = before_query;
  if (!rest.starts_with('/')) {
    if (!uri.scheme.empty()) {
      uri.opaque = rest;
      return {};
    }
    if (Cut(rest, '/').first.contains(':'))
      return Failure("first path segment in URL cannot contain colon");
  }
  const bool has_authority =
      rest.starts_with("//") && (!uri.scheme.empty() || !rest.starts_with("///"));
  if (has_authority) {
    rest.remove_prefix(2);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    KV_RETURN_IF_ERROR(ParseAuthority(rest.substr(0, slash), uri));
    rest.remove_prefix(slash);
  }
  KV_TRY(uri.path, Decode(rest, Part::kPath));
  uri.encoded_path = Reencode(rest, uri.path, Part::kPath);
  return {};
}

}  // namespace

std::expected<Uri, std::string> Uri::Parse(std::string_view text) {
  Uri uri;
  const auto [before, fragment] = Cut(text, '#');
  if (const auto parsed = ParseBeforeFragment(before, uri); !parsed)
    return Failure("parse " + GoQuote(before) + ": " + parsed.error());
  if (fragment.has_value()) {
    const Decoded decoded = Decode(*fragment, Part::kFragment);
    if (!decoded.has_value()) return Failure("parse " + GoQuote(text) + ": " + decoded.error());
    uri.encoded_fragment = Reencode(*fragment, *decoded, Part::kFragment);
  }
  return uri;
}

std::string Uri::ToString() const {
  std::string text;
  if (!scheme.empty()) text += scheme + ":";
  if (!opaque.empty()) {
    text += opaque;
  } else {
    const bool has_slashes = !host.empty() || user.has_value() || (has_authority && !path.empty());
    if (has_slashes) text += "//";
    if (user.has_value()) {
      text += Encode(user->name, Part::kUser);
      if (user->password.has_value()) text += ":" + Encode(*user->password, Part::kUser);
      text += "@";
    }
    text += Encode(host, Part::kHost) + encoded_path;
  }
  if (query.has_value()) text += "?" + *query;
  if (!encoded_fragment.empty()) text += "#" + encoded_fragment;
  return text;
}

std::optional<HostPort> SplitHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[')) {
    // The first closing bracket must be right before the last colon.
    if (text.find(']') + 1 != colon) return std::nullopt;
    host = host.substr(1, host.size() - 2);
  } else if (host.contains(':')) {
    return std::nullopt;
  }
  const std::string_view port = text.substr(colon + 1);
  if (host.find_first_of("[]") != std::string_view::npos ||
      port.find_first_of("[]") != std::string_view::npos) {
    return std::nullopt;
  }
  return HostPort{.host = std::string(host), .port = std::string(port)};
}

std::string JoinHostPort(std::string_view host, std::uint16_t port) {
  std::string text(host);
  if (host.find(':') != std::string_view::npos) text.insert(0, "[").append("]");
  return text.append(":").append(std::to_string(port));
}

}  // namespace kvorum
