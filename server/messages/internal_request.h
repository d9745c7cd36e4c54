// What a log entry says: etcdserverpb.InternalRaftRequest, read and written by hand so that a
// client's request goes into the log as the bytes it arrived as, and is read back without a copy.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/shared_bytes.h"

namespace kvorum::server {

// The field of the request; the numbers are on the wire. Kinds that this version does not write are
// named so that a log that holds one is refused by name, not misread.
enum class RequestKind : std::uint16_t {
  kNone = 0,
  kPut = 4,
  kDeleteRange = 5,
  kTxn = 6,
  kCompaction = 7,
  kLeaseGrant = 8,
  kLeaseRevoke = 9,
  kAlarm = 10,
  kLeaseCheckpoint = 11,
  kAuthEnable = 1000,
  kAuthDisable = 1011,
  kAuthenticate = 1012,
  kAuthStatus = 1013,
  kUserAdd = 1100,
  kUserDelete = 1101,
  kUserGet = 1102,
  kUserChangePassword = 1103,
  kUserGrantRole = 1104,
  kUserRevokeRole = 1105,
  kUserList = 1106,
  kRoleList = 1107,
  kRoleAdd = 1200,
  kRoleDelete = 1201,
  kRoleGet = 1202,
  kRoleGrantPermission = 1203,
  kRoleRevokePermission = 1204,
  kClusterVersionSet = 1300,
  kMemberAttributesSet = 1301,
};

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
