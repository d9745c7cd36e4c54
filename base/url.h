// The URLs of flags and members: http, https, unix and unixs, as the API's URL lists spell them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvorum {

class Url {
 public:
  // kInvalidArgument with the text that goes behind the flag's name.
  static Result<Url> Parse(std::string_view text);

  const std::string& text() const { return text_; }
  bool tls() const { return scheme_ == "https" || scheme_ == "unixs"; }
  bool unix_socket() const { return scheme_ == "unix" || scheme_ == "unixs"; }
  const std::string& host() const { return host_; }  // without brackets
  std::uint16_t port() const { return port_; }
  // The socket's file: `unix://localhost:20001` is the file `localhost:20001` in the working
  // directory.
  const std::string& socket_path() const { return socket_path_; }
  bool IsIpOrLocalhost() const;

 private:
  std::string text_;
  std::string scheme_;
  std::string host_;
  std::uint16_t port_ = 0;
  std::string socket_path_;
};

// A comma-separated list, at least one.
Result<std::vector<Url>> ParseUrls(std::string_view list);

}  // namespace kvorum
