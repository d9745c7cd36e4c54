// The request that makes a connection over HTTP/1.1 a WebSocket (RFC 6455, section 4.2), judged as
// Go's servers do. Pure functions.
#pragma once

#include <expected>

#include "rpc/http/http.h"

namespace kvorum::rpc {

// True if the request is meant to be one, be it right or not.
bool IsWebSocketRequest(const HttpRequest& request);
// The answer's head, to which a subprotocol may be added; or the refusal.
std::expected<HttpResponse, HttpResponse> AcceptWebSocket(const HttpRequest& request);

}  // namespace kvorum::rpc
