// A URI, parsed and formatted by the rules of Go's url.Parse and URL.String. Members of a cluster
// must agree on the result when they compare, hash and dial each other's URLs. The rules are RFC
// 3986's with Go's liberties; tests/server/url_table.txt has them case by case.
//
// A value, immutable once parsed.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum {

struct Uri {
  struct User {
    std::string name;
    std::optional<std::string> password;
  };

  std::string scheme;  // in lower case; empty: none
  std::string opaque;  // the part after a scheme without a slash, as written
  std::optional<User> user;
  std::string host;  // with its port, decoded; an IPv6 address keeps its brackets
  std::string path;  // decoded
  std::string encoded_path;
  std::optional<std::string> query;  // as written
  std::string encoded_fragment;
  bool has_authority = false;

  // Returns the URI, or the reason why the text is not one, as in `parse "http://a b": invalid
  // character " " in host name`.
  static std::expected<Uri, std::string> Parse(std::string_view text);
  std::string ToString() const;
};

struct HostPort {
  std::string host;  // without brackets
  std::string port;
};
// Nothing if a port is missing, or if it is ambiguous which colon starts it.
std::optional<HostPort> SplitHostPort(std::string_view text);
// An IPv6 address gets brackets.
std::string JoinHostPort(std::string_view host, std::uint16_t port);

}  // namespace kvorum
