// The door of the client ports for HTTP: requests in plain text that name a strange host are
// refused
// (--host-whitelist; a page of a strange site may have made the browser's resolver name us so),
// pages of other origins may read the answers (--cors), and OPTIONS is answered for any path. Where
// origins are named, a WebSocket is refused to pages of others.
//
// Immutable, so thread-safe; outlives the handlers that it guards.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/http/http.h"

namespace kvorum::server {

class HttpAccess {
 public:
  // "*" in a list, and an empty list, allow all.
  HttpAccess(const std::vector<std::string>& hosts, const std::vector<std::string>& origins);

  rpc::HttpHandler Guard(rpc::HttpHandler handler) const;

 private:
  using Names = std::set<std::string, std::less<>>;
  // The value of Access-Control-Allow-Origin; empty: none.
  std::string AllowedOrigin(const rpc::HttpRequest& request) const;
  // True for a page of an origin that is neither named nor our own.
  bool RefusesOrigin(const rpc::HttpRequest& request) const;

  Names hosts_;    // empty: all
  Names origins_;  // empty: all
};

}  // namespace kvorum::server
