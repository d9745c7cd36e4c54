// A URI, taken apart and put together again by the rules of Go's url.Parse and URL.String: what
// members of a cluster agree on when they compare, hash and dial each other's URLs. The rules are
// RFC 3986's with Go's liberties; tests/server/url_table.txt has them case by case.
//
// A value, immutable once parsed.
#pragma once

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
  std::string opaque;  // what follows a scheme without a slash behind it, as written
  std::optional<User> user;
  std::string host;  // with its port, decoded; an IPv6 address has its brackets
  std::string path;  // decoded
  std::string encoded_path;
  std::optional<std::string> query;  // as written
  std::string encoded_fragment;
  bool has_authority = false;

  // The reason if the text is none, as in `parse "http://a b": invalid character " " in host name`.
  static std::expected<Uri, std::string> Parse(std::string_view text);
  std::string ToString() const;
};

struct HostPort {
  std::string host;  // without brackets
  std::string port;
};
// Nothing if a port is missing, or which colon begins it cannot be told.
std::optional<HostPort> SplitHostPort(std::string_view text);

}  // namespace kvorum
