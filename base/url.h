// The URLs of flags and members: http, https, unix and unixs, as the API's URL lists spell them.
// What is taken, how it is kept and how it is refused is etcd's rule (types.NewURLs over Go's
// url.Parse): members of both kinds must take the same URLs, since one that its peers cannot read
// ends them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvorum {

class Url {
 public:
  // White space around it is passed over. kInvalidArgument with the text that goes behind the
  // flag's name.
  static Result<Url> Parse(std::string_view text);

  // As members keep it and compare it: the scheme in lower case, what is not ASCII escaped.
  const std::string& text() const { return text_; }
  bool tls() const { return scheme_ == "https" || scheme_ == "unixs"; }
  bool unix_socket() const { return scheme_ == "unix" || scheme_ == "unixs"; }
  const std::string& host() const { return host_; }  // without brackets
  const std::string& port_text() const { return port_text_; }
  // The port to listen on: 0 (any) if none is said.
  std::uint16_t port() const { return port_; }
  // The port to dial: the scheme's own if none is said.
  std::uint16_t dial_port() const;
  // The socket's file: `unix://localhost:20001` is the file `localhost:20001` in the working
  // directory. Empty in `unix:file`, which names none.
  const std::string& socket_path() const { return socket_path_; }
  bool IsIpOrLocalhost() const;
  // True if it can be listened on or dialed: numbers that are no port, and sockets without a name,
  // are taken, and found out by who uses them. kInvalidArgument.
  Result<void> CheckAddress() const;

 private:
  std::string text_;
  std::string scheme_;
  std::string host_;
  std::string port_text_;
  std::uint16_t port_ = 0;
  std::string socket_path_;
};

// A list, at least one; in the order of their texts, as ids are made of them and members list them.
Result<std::vector<Url>> ParseUrlList(const std::vector<std::string>& texts);
// The same of a comma-separated list, as flags have it, each of them once.
Result<std::vector<Url>> ParseUrls(std::string_view list);

}  // namespace kvorum
