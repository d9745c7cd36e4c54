// The content of a log entry: etcdserverpb.InternalRaftRequest, read and written by hand so that a
// client's request goes into the log in the bytes received, and is read back without a copy.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/entries/request_kind.h"
#include "api/message_tables.h"
#include "base/error.h"
#include "base/shared_bytes.h"

namespace kvorum::server {

struct InternalRequest {
  std::uint64_t id = 0;  // of the waiter on the member that proposed it
  RequestKind kind = RequestKind::kNone;
  std::string_view body;            // the request's own message
  std::string_view user = {};       // the caller; empty: none, or auth was disabled
  std::uint64_t auth_revision = 0;  // of the auth state that admitted the request
};

// One block: the body is copied once.
SharedBytes EncodeInternalRequest(const InternalRequest& request);
// The same for a request without a caller, such as the server's own.
inline SharedBytes EncodeInternalRequest(std::uint64_t id, RequestKind kind,
                                         std::string_view body) {
  return EncodeInternalRequest({.id = id, .kind = kind, .body = body});
}
// Views point into the decoded bytes. kDataLoss for bytes that are not such a request;
// kUnimplemented, naming the field, for a kind that this version does not know: a replica that
// skipped it would diverge.
Result<InternalRequest> DecodeInternalRequest(std::string_view bytes);

// The versions that etcd's own tests ask for in an entry (downgrade_version_test), a kind that
// members do not know; empty texts for those that name none. Views point into the bytes.
std::vector<std::string_view> VersionTestsIn(std::string_view bytes);

// The tables of the request and of its header, for the test that compares tables with the .proto
// files.
MessageTables InternalRequestTables();

}  // namespace kvorum::server
