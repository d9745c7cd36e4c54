#include "consul/http/router.h"

#include <algorithm>

namespace kvorum::consul {
namespace {

bool Allows(std::string_view methods, std::string_view method) {
  while (!methods.empty()) {
    const std::size_t end = std::min(methods.find(','), methods.size());
    if (methods.substr(0, end) == method) return true;
    methods.remove_prefix(std::min(end + 1, methods.size()));
  }
  return false;
}

}  // namespace

void Router::Add(std::vector<Route> routes) {
  for (Route& route : routes) {
    std::string path = route.path;
    if (path.size() > 1 && path.ends_with('/')) {
      prefixes_.insert_or_assign(std::move(path), std::move(route));
    } else {
      exact_.insert_or_assign(std::move(path), std::move(route));
    }
  }
}

const Route* Router::Find(const std::string& path, std::string& rest) const {
  if (const auto found = exact_.find(path); found != exact_.end()) return &found->second;
  for (const auto& [prefix, route] : prefixes_) {
    if (!path.starts_with(prefix)) continue;
    rest = path.substr(prefix.size());
    return &route;
  }
  return nullptr;
}

bool Router::Refuses(const Route& route, Exchange& exchange) const {
  const std::string_view method = exchange.method();
  const std::string allowed = "OPTIONS," + route.methods;
  if (method == "OPTIONS") {
    exchange.SetHeader("Allow", allowed);
    exchange.Ok();
    return true;
  }
  if (!Allows(route.methods, method)) {
    exchange.SetHeader("Allow", allowed);
    exchange.Text(405, "method " + std::string(method) + " not allowed");
    return true;
  }
  const bool writes = route.writes || method == "PUT" || method == "DELETE";
  if (writes && options_.is_read_only) {
    exchange.Text(403, "Permission denied: this agent only reads (--http-read-only)");
    return true;
  }
  if (exchange.body().size() > route.max_body_bytes) {
    exchange.Text(413, TooLargeText(exchange.body().size(), route.max_body_bytes));
    return true;
  }
  return false;
}

void Router::Serve(rpc::HttpRequest request, rpc::HttpReply reply, Executor* loop) const {
  reply.AddHeaders({{"X-Consul-Default-Acl-Policy", options_.default_acl_policy}});
  if (request.method != "PUT") request.body = {};
  Exchange exchange(std::move(request), std::move(reply), loop);
  if (!exchange.has_sound_path()) return exchange.Text(400, "Bad Request");
  std::string rest;
  if (const Route* route = Find(exchange.path(), rest)) {
    exchange.SetRest(std::move(rest));
    if (Refuses(*route, exchange)) return;
    if (!exchange.has_sound_query()) return exchange.Text(500, "the query string is malformed");
    return route->handle(std::move(exchange));
  }
  const std::string& path = exchange.path();
  if (path == "/") return exchange.OkText("Consul Agent");
  if (const auto prefix = prefixes_.find(path + '/'); prefix != prefixes_.end()) {
    exchange.SetHeader("Location", prefix->first);
    return exchange.Text(301, "Moved Permanently");
  }
  exchange.SetHeader("X-Content-Type-Options", "nosniff");
  exchange.Text(404, "404 page not found\n");
}

std::string Router::RefusalOfBody(const std::string& path, std::uint64_t body_bytes) const {
  std::string rest;
  const Route* route = Find(path, rest);
  return TooLargeText(body_bytes, route == nullptr ? kMaxBodyBytes : route->max_body_bytes);
}

std::vector<std::string> Router::Paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, route] : exact_) paths.push_back(path);
  for (const auto& [path, route] : prefixes_) paths.push_back(path);
  std::ranges::sort(paths);
  return paths;
}

Route RefusedRoute(std::string path, std::string methods, unsigned status, std::string text) {
  return {.path = std::move(path),
          .methods = std::move(methods),
          .handle = [status, text = std::move(text)](Exchange exchange) {
            exchange.Text(status, text);
          }};
}

}  // namespace kvorum::consul
