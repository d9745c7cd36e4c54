#include "server/gateway/websocket.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/http/web_origin.h"
#include "rpc/http1/websocket_handshake.h"

namespace kvorum::server::gateway {
namespace {

constexpr std::string_view kScheme = "Bearer";
constexpr std::string_view kListedScheme = "Bearer,";
constexpr std::string_view kTokenCookie = "token";

std::string_view Trim(std::string_view text, std::string_view what) {
  const std::size_t begin = text.find_first_not_of(what);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(what) - begin + 1);
}

// "Bearer, TOKEN" as "Bearer TOKEN"; empty for other subprotocols.
std::string TokenOfSubprotocol(std::string_view subprotocol) {
  const std::size_t at = subprotocol.find(kListedScheme);
  if (at == std::string_view::npos) return {};
  return std::string(kScheme) + " " +
         std::string(Trim(subprotocol.substr(at + kListedScheme.size()), " "));
}

bool IsCookieByte(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != ';' && c != '\\'; }

// The cookie's value; nullopt if there is none that is well-formed.
std::optional<std::string> TokenOfCookie(const rpc::HttpRequest& request) {
  for (const rpc::HttpHeader& header : request.headers) {
    if (header.name != "cookie") continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view part = Trim(rest.substr(0, end), " \t");
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t sign = std::min(part.find('='), part.size());
      if (Trim(part.substr(0, sign), " \t") != kTokenCookie) continue;
      std::string_view value = part.substr(std::min(sign + 1, part.size()));
      if (value.size() > 1 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
      if (std::ranges::all_of(value, IsCookieByte)) return std::string(value);
    }
  }
  return std::nullopt;
}

// The last one counts: a cookie stands in for the subprotocol's token. Browsers send it with what
// any page asks of its host; only a page of that host can be meant by it.
std::vector<rpc::HttpHeader> InnerHeaders(const rpc::HttpRequest& request) {
  std::vector<rpc::HttpHeader> headers;
  std::optional<std::string> token;
  const auto subprotocol = request.Header("sec-websocket-protocol");
  if (subprotocol && !subprotocol->empty()) token = TokenOfSubprotocol(*subprotocol);
  const auto cookie = rpc::IsFromOtherHost(request) ? std::nullopt : TokenOfCookie(request);
  if (cookie.has_value()) token = std::string(kScheme) + " " + *cookie;
  if (token.has_value()) headers.push_back({"authorization", *std::move(token)});
  for (const std::string_view name : {"origin", "referer"}) {
    if (const auto value = request.Header(name))
      headers.push_back({std::string(name), std::string(*value)});
  }
  return headers;
}

}  // namespace

std::optional<std::pair<rpc::HttpRequest, rpc::HttpReply>> OpenWebSocket(rpc::HttpRequest request,
                                                                         rpc::HttpReply reply) {
  auto head = rpc::AcceptWebSocket(request);
  if (!head.has_value()) {
    reply.Send(std::move(head).error());
    return std::nullopt;
  }
  const auto subprotocol = request.Header("sec-websocket-protocol");
  if (subprotocol && subprotocol->starts_with(kScheme))
    head->headers.push_back({"Sec-WebSocket-Protocol", std::string(kScheme)});
  request.headers = InnerHeaders(request);
  request.method = "POST";
  auto upgrade = reply.Upgrade(*std::move(head));
  if (!upgrade.has_value()) return std::nullopt;
  request.input = std::move(upgrade->input);
  return std::pair(std::move(request), std::move(*upgrade->reply));
}

}  // namespace kvorum::server::gateway
