#include "server/services/maintenance/http_access.h"

#include <algorithm>
#include <utility>

#include "base/log/logging.h"
#include "base/text/go_quote.h"
#include "rpc/http/http_error.h"
#include "rpc/http/web_origin.h"
#include "rpc/http1/websocket_handshake.h"

namespace kvorum::server {
namespace {

constexpr unsigned kMisdirectedRequest = 421;

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

bool HttpAccess::RefusesOrigin(const rpc::HttpRequest& request) const {
  if (origins_.empty()) return false;
  return std::ranges::any_of(request.headers, [&](const rpc::HttpHeader& header) {
    return header.name == "origin" && !origins_.contains(header.value) &&
           !origins_.contains(rpc::WithPort(header.value)) &&
           !rpc::IsOwnOrigin(header.value, request);
  });
}

rpc::HttpHandler HttpAccess::Guard(rpc::HttpHandler handler) const {
  return [this, handler = std::move(handler)](rpc::HttpRequest request, rpc::HttpReply reply) {
    // Asked of the server itself, not of anything that it serves.
    if (request.method == "OPTIONS" && request.target == "*") return reply.Send(NothingMore());
    if (const std::string_view host = rpc::HostnameOf(rpc::AskedHost(request));
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
    // A browser lets every page speak WebSocket with every host: that is for the server to refuse.
    if (rpc::IsWebSocketRequest(request) && RefusesOrigin(request))
      return reply.Send(rpc::HttpError(403, "Forbidden"));
    handler(std::move(request), std::move(reply));
  };
}

}  // namespace kvorum::server
