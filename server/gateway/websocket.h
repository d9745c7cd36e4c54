// The gateway's calls over WebSocket, as etcd's proxy in front of its gateway offers them: the
// client's messages are the body of a POST request to the same path, each line of the answer is a
// message.
//
// Only three of the handshake's headers reach the call: Origin, Referer, and its token, which
// browsers can send as a subprotocol ("Sec-WebSocket-Protocol: Bearer, TOKEN") or in a cookie
// ("token=TOKEN"). Pages of another host cannot set the cookie.
#pragma once

#include <optional>
#include <utility>

#include "rpc/http/http.h"

namespace kvorum::server::gateway {

// The request within, and the right to answer it. Nullopt: the handshake was refused.
std::optional<std::pair<rpc::HttpRequest, rpc::HttpReply>> OpenWebSocket(rpc::HttpRequest request,
                                                                         rpc::HttpReply reply);

}  // namespace kvorum::server::gateway
