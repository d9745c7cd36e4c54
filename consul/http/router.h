// Finds the handler of a request, and answers what has none: 404, 405 with Allow, OPTIONS, `/`,
// malformed paths and queries, bodies that are too large, writes to an agent that only reads.
//
// Filled by one thread, then used by any. Every answer has X-Consul-Default-Acl-Policy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consul/http/exchange.h"
#include "rpc/http/http.h"

namespace kvorum::consul {

class Router {
 public:
  struct Options {
    bool is_read_only = false;
    std::string default_acl_policy = "allow";
  };
  explicit Router(Options options) : options_(std::move(options)) {}

  // An exact path counts before prefixes, and the longer one of two prefixes that fit.
  void Add(std::vector<Route> routes);
  // A body of a method that takes none is dropped. The last parameter is for tests, as Exchange's.
  void Serve(rpc::HttpRequest request, rpc::HttpReply reply, Executor* loop = nullptr) const;
  // The text of 413 for a body that is too large for the listener (TooLargeText).
  std::string RefusalOfBody(const std::string& path, std::uint64_t body_bytes) const;
  // Sorted.
  std::vector<std::string> Paths() const;

 private:
  // Null: none. The rest of a prefix's path is put into `rest`.
  const Route* Find(const std::string& path, std::string& rest) const;
  // True if the exchange was answered.
  bool Refuses(const Route& route, Exchange& exchange) const;

  const Options options_;
  std::map<std::string, Route, std::less<>> exact_;
  std::map<std::string, Route, std::greater<>> prefixes_;  // a longer one before its beginning
};

// Routes that answer every request with one text: what this agent does not do, by name.
Route RefusedRoute(std::string path, std::string methods, unsigned status, std::string text);

}  // namespace kvorum::consul
