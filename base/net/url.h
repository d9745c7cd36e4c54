// The URLs of flags and members: http, https, unix and unixs, as the API's URL lists have them.
// Acceptance, stored form and errors follow etcd's rule (types.NewURLs over Go's url.Parse).
// Members of both kinds must accept the same URLs, since a URL that its peers cannot parse crashes
// them. A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvorum {

class Url {
 public:
  // Ignores white space around the URL. kInvalidArgument with the text that follows the flag's
  // name.
  static Result<Url> Parse(std::string_view text);

  // The form that members store and compare: the scheme in lower case, non-ASCII characters
  // escaped.
  const std::string& text() const { return text_; }
  bool tls() const { return scheme_ == "https" || scheme_ == "unixs"; }
  bool unix_socket() const { return scheme_ == "unix" || scheme_ == "unixs"; }
  const std::string& host() const { return host_; }  // without brackets
  const std::string& port_text() const { return port_text_; }
  // The port to listen on: 0 (any) if the URL has none.
  std::uint16_t port() const { return port_; }
  // The port to dial: the scheme's default if the URL has none.
  std::uint16_t dial_port() const;
  // The socket's file: `unix://localhost:20001` is the file `localhost:20001` in the working
  // directory. Empty for `unix:file`, which names none.
  const std::string& socket_path() const { return socket_path_; }
  bool IsIpOrLocalhost() const;
  // Succeeds if the URL can be listened on or dialed. Parse accepts invalid port numbers and
  // sockets without a name; their users find out here. kInvalidArgument.
  Result<void> CheckAddress() const;

 private:
  std::string text_;
  std::string scheme_;
  std::string host_;
  std::string port_text_;
  std::uint16_t port_ = 0;
  std::string socket_path_;
};

// A list of at least one URL, sorted by text: ids are computed from this order and members list it.
Result<std::vector<Url>> ParseUrlList(const std::vector<std::string>& texts);
// The same for a comma-separated list of a flag, without duplicates.
Result<std::vector<Url>> ParseUrls(std::string_view list);

}  // namespace kvorum
