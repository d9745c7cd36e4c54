// The server that a client dials.
#pragma once

#include <string>

namespace kvorum::rpc {

struct DialTarget {
  std::string host;
  std::string port;       // a number, or a service's name
  std::string unix_path;  // empty: host and port count
  std::string authority;  // for the requests' headers
};

}  // namespace kvorum::rpc
