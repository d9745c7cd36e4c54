#include "rpc/http1/websocket_handshake.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "base/letter_case.h"
#include "base/words.h"
#include "rpc/http/http1_parser.h"
#include "rpc/http/http_error.h"

namespace kvorum::rpc {
namespace {

// RFC 6455, section 1.3.
constexpr std::string_view kKeySuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::string_view kVersion = "13";
constexpr std::size_t kKeyBytes = 16;

// True if one of the headers' lists has the token. No list goes on after an empty one.
bool HasToken(const HttpRequest& request, std::string_view name, std::string_view token) {
  for (const HttpHeader& header : request.headers) {
    if (header.name != name) continue;
    std::string_view rest = header.value;
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view item = Trim(rest.substr(0, comma));
      if (item.empty()) break;
      if (EqualsInAnyCase(item, token)) return true;
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

std::string AcceptKey(std::string_view key) {
  std::string joined(key);
  joined += kKeySuffix;
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(joined.data()), joined.size(), digest.data());
  return EncodeBase64(Base64::kStandard,
                      {reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::unexpected<HttpResponse> Refuse(unsigned status) {
  HttpResponse refusal = HttpError(status, ReasonOf(status));
  refusal.headers.push_back({"Sec-Websocket-Version", std::string(kVersion)});
  return std::unexpected(std::move(refusal));
}

}  // namespace

bool IsWebSocketRequest(const HttpRequest& request) {
  return HasToken(request, "connection", "upgrade") && HasToken(request, "upgrade", "websocket");
}

std::expected<HttpResponse, HttpResponse> AcceptWebSocket(const HttpRequest& request) {
  if (request.method != "GET") return Refuse(405);
  if (!HasToken(request, "sec-websocket-version", kVersion)) return Refuse(400);
  const std::string_view key = request.Header("sec-websocket-key").value_or(std::string_view());
  const auto decoded = DecodeBase64(Base64::kStandard, key);
  if (!decoded.has_value() || decoded->size() != kKeyBytes) return Refuse(400);
  return HttpResponse{.status = 101,
                      .content_type = "",
                      .headers = {{"Upgrade", "websocket"},
                                  {"Connection", "Upgrade"},
                                  {"Sec-WebSocket-Accept", AcceptKey(key)}},
                      .body = {}};
}

}  // namespace kvorum::rpc
