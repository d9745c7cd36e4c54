// The Watch service's messages: requests by table, as views into the message's bytes; responses by
// hand, since their events are already encoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "api/kv_encode.h"
#include "api/watch_messages.h"
#include "base/error.h"

namespace kvorum::server {

struct WatchCancelRequest {
  std::int64_t watch_id = 0;
};
struct WatchProgressRequest {};
// monostate: a request of an unknown kind, which is ignored.
using WatchRequest =
    std::variant<std::monostate, watch::CreateRequest, WatchCancelRequest, WatchProgressRequest>;

// An error ends the stream.
Result<WatchRequest> DecodeWatchRequest(std::string_view bytes);

struct WatchResponseHead {
  std::int64_t watch_id = 0;
  bool created = false;
  bool canceled = false;
};
// From the beginning of a WatchResponse, which may end within its events.
WatchResponseHead ReadWatchResponseHead(std::string_view beginning);

// A WatchResponse without its events, whose encoded bytes follow it.
void AppendWatchResponse(std::string& out, const ResponseHeader& header,
                         const watch::Response& response);

}  // namespace kvorum::server
