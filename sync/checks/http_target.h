// The place that the URL of an http check names, and the place that a redirect leads to (RFC 3986,
// section 5.2, with Go's liberties). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::sync {

struct HttpTarget {
  bool is_https = false;
  std::string user = {};       // NAME:PASSWORD, decoded; empty: none
  std::string authority = {};  // HOST or HOST:PORT
  std::string path = {};       // with its query, without a fragment; begins with a slash

  friend bool operator==(const HttpTarget&, const HttpTarget&) = default;
};

// An http:// or https:// URL without spaces and control characters (ValidateEntry).
HttpTarget ParseTarget(const std::string& url);
// Without the user's part: what a Referer may say.
std::string UrlOf(const HttpTarget& target);
// The target of a Location header in an answer from `base`. kInvalidArgument, with a text for the
// check's output: another scheme than http and https, no host, characters that no URL has.
Result<HttpTarget> ResolveLocation(const HttpTarget& base, std::string_view location);
// True if credentials that were meant for `first` may be sent to `next`: its host is the same or
// lies below it, and TLS is not left.
bool MaySeeSecrets(const HttpTarget& first, const HttpTarget& next);

}  // namespace kvorum::sync
