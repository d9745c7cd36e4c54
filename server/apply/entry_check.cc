#include "server/apply/entry_check.h"

#include <limits>

#include "mvcc/validate.h"
#include "proto/wire.h"
#include "server/messages/auth_messages.h"
#include "server/messages/internal_request.h"
#include "server/messages/kv_decode.h"
#include "server/messages/lease_messages.h"
#include "server/messages/maintenance_encode.h"
#include "server/state/member_change.h"

namespace kvorum::server {
namespace {

// Discards the value: only whether there is one counts.
template <class T>
Result<void> WhetherRead(const Result<T>& decoded) {
  if (!decoded.has_value()) return std::unexpected(decoded.error());
  return {};
}

Result<void> CheckRequest(const InternalRequest& request) {
  switch (request.kind) {
    case RequestKind::kPut: {
      KV_TRY(const mvcc::PutRequest put, DecodePut(request.body));
      return mvcc::CheckPut(put);
    }
    case RequestKind::kDeleteRange: {
      KV_TRY(const mvcc::DeleteRangeRequest del, DecodeDeleteRange(request.body));
      return mvcc::CheckDeleteRange(del);
    }
    case RequestKind::kTxn: {
      KV_TRY(const mvcc::TxnRequest txn, DecodeTxn(request.body));
      return mvcc::CheckTxn(txn, std::numeric_limits<std::size_t>::max());
    }
    case RequestKind::kCompaction:
      return WhetherRead(DecodeCompaction(request.body));
    case RequestKind::kLeaseGrant:
      return WhetherRead(DecodeLeaseGrant(request.body));
    case RequestKind::kLeaseRevoke:
      return WhetherRead(DecodeLeaseId(request.body));
    case RequestKind::kLeaseCheckpoint:
      return WhetherRead(DecodeLeaseCheckpoints(request.body));
    case RequestKind::kAlarm:
      return WhetherRead(DecodeAlarmRequest(request.body));
    case RequestKind::kClusterVersionSet:
      return WhetherRead(DecodeClusterVersion(request.body));
    case RequestKind::kMemberAttributesSet:
      return WhetherRead(DecodeMemberAttributes(request.body));
    case RequestKind::kAuthenticate:
      return WhetherRead(DecodeLoginEntry(request.body));
    case RequestKind::kUserAdd:
      return WhetherRead(DecodeUserAdd(request.body));
    case RequestKind::kUserChangePassword:
      return WhetherRead(DecodeChangePassword(request.body));
    case RequestKind::kUserDelete:
    case RequestKind::kRoleAdd:
    case RequestKind::kRoleDelete:
      return WhetherRead(DecodeName(request.body));
    case RequestKind::kUserGrantRole:
    case RequestKind::kUserRevokeRole:
      return WhetherRead(DecodeUserRole(request.body));
    case RequestKind::kRoleGrantPermission:
      return WhetherRead(DecodeGrantPermission(request.body));
    case RequestKind::kRoleRevokePermission:
      return WhetherRead(DecodeRevokePermission(request.body));
    case RequestKind::kAuthEnable:
    case RequestKind::kAuthDisable:
    case RequestKind::kAuthStatus:
    case RequestKind::kUserGet:
    case RequestKind::kUserList:
    case RequestKind::kRoleGet:
    case RequestKind::kRoleList:
    case RequestKind::kNone:
      return {};
  }
  return {};
}

}  // namespace

Result<void> CheckPeersEntry(const raft::Entry& entry) {
  switch (entry.type) {
    case raft::EntryType::kNormal: {
      if (entry.data.empty()) return {};
      KV_TRY(const InternalRequest request, DecodeInternalRequest(entry.data.view()));
      return CheckRequest(request);
    }
    case raft::EntryType::kConfChange: {
      KV_TRY(const raft::ConfChange change, raft::DecodeConfChange(entry.data));
      return WhetherRead(DecodeMemberChange(change));
    }
    case raft::EntryType::kConfChangeV2:
      break;
  }
  return Fail(Code::kUnimplemented, "a kind of entry that this version does not know");
}

}  // namespace kvorum::server
