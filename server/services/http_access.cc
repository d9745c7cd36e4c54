#include "server/services/http_access.h"

#include <utility>

#include "base/go_quote.h"
#include "base/logging.h"
#include "rpc/http_error.h"

namespace kvorum::server {
namespace {

constexpr unsigned kMisdirectedRequest = 421;

// The target's own host goes before the header, as in Go.
std::string_view HostOf(const rpc::HttpRequest& request) {
  const std::string_view target = request.target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::string_view rest = target.substr(scheme.size());
    return rest.substr(0, rest.find_first_of("/?"));
  }
  return request.Header("host").value_or("");
}

std::string StrangeHostText(std::string_view host) {
  return "\netcd received your request, but the Host header was unrecognized.\n\n"
         "To fix this, choose one of the following options:\n"
         "- Enable TLS, then any HTTPS request will be allowed.\n"
         "- Add the hostname you want to use to the whitelist in settings.\n"
         "  - e.g. etcd --host-whitelist " +
         GoQuote(host) +
         "\n\nThis requirement has been added to help prevent \"DNS Rebinding\" attacks "
         "(CVE-2018-5702).\n";
}

rpc::HttpResponse NothingMore() {
  return {.status = 200, .content_type = {}, .headers = {}, .body = {}};
}

}  // namespace

std::string_view HostnameOf(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos) return host;
  const std::string_view name = host.substr(0, colon);
  constexpr std::string_view kMarks = ":[]";
  if (!name.starts_with('[')) return name.find_first_of(kMarks) == name.npos ? name : host;
  const std::size_t end = name.find(']');
  if (end == name.npos || end + 1 != name.size()) return host;
  const std::string_view inner = name.substr(1, end - 1);
  return inner.find_first_of("[]") == inner.npos ? inner : host;
}

HttpAccess::HttpAccess(const std::vector<std::string>& hosts,
                       const std::vector<std::string>& origins)
    : hosts_(hosts.begin(), hosts.end()), origins_(origins.begin(), origins.end()) {
  if (hosts_.contains("*")) hosts_.clear();
  if (origins_.contains("*")) origins_.clear();
}

std::string HttpAccess::AllowedOrigin(const rpc::HttpRequest& request) const {
  if (origins_.empty()) return "*";
  const std::string_view origin = request.Header("origin").value_or("");
  return origins_.contains(origin) ? std::string(origin) : "";
}

rpc::HttpHandler HttpAccess::Guard(rpc::HttpHandler handler) const {
  return [this, handler = std::move(handler)](rpc::HttpRequest request, rpc::HttpReply reply) {
    // Asked of the server itself, not of anything that it serves.
    if (request.method == "OPTIONS" && request.target == "*") return reply.Send(NothingMore());
    if (const std::string_view host = HostnameOf(HostOf(request));
        !request.is_secure && !hosts_.empty() && !hosts_.contains(host)) {
      KV_WARN("rejecting HTTP request to prevent DNS rebinding attacks", {"host", host});
      return reply.Send(rpc::HttpError(kMisdirectedRequest, StrangeHostText(host)));
    }
    if (std::string origin = AllowedOrigin(request); !origin.empty()) {
      reply.AddHeaders({{"Access-Control-Allow-Methods", "POST, GET, OPTIONS, PUT, DELETE"},
                        {"Access-Control-Allow-Origin", std::move(origin)},
                        {"Access-Control-Allow-Headers", "accept, content-type, authorization"}});
    }
    if (request.method == "OPTIONS") return reply.Send(NothingMore());
    handler(std::move(request), std::move(reply));
  };
}

}  // namespace kvorum::server
