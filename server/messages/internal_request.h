// What a log entry says: etcdserverpb.InternalRaftRequest, read and written by hand so that a
// client's request goes into the log as the bytes it arrived as, and is read back without a copy.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "server/messages/request_kind.h"

namespace kvorum::server {

struct InternalRequest {
  std::uint64_t id = 0;  // of the waiter on the member that proposed it
  RequestKind kind = RequestKind::kNone;
  std::string_view body;            // the request's own message
  std::string_view user = {};       // who asks; empty: nobody, or auth was off
  std::uint64_t auth_revision = 0;  // of the auth state that the request was let in by
};

// One block: the body is copied once.
SharedBytes EncodeInternalRequest(const InternalRequest& request);
// The same for a request of nobody's, as the server's own are.
inline SharedBytes EncodeInternalRequest(std::uint64_t id, RequestKind kind,
                                         std::string_view body) {
  return EncodeInternalRequest({.id = id, .kind = kind, .body = body});
}
// Views are within the decoded bytes.
// kDataLoss for bytes that are no such request; kUnimplemented, naming the field, for a kind that
// this version does not know: a replica that skipped it would diverge.
Result<InternalRequest> DecodeInternalRequest(std::string_view bytes);

}  // namespace kvorum::server
