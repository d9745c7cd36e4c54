#include "api/entries/older_entry.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include "api/entries/entry_kinds.h"
#include "api/kv_request_encode.h"

namespace kvorum::server {
namespace {

std::string StringOf(const SharedBytes& bytes) { return std::string(bytes.view()); }

// One for each kind that clients ask for, in their bytes or in ours.
std::string Anew(EntryKind<RequestKind::kPut>, const mvcc::PutRequest& request) {
  return StringOf(EncodePut(request));
}
std::string Anew(EntryKind<RequestKind::kDeleteRange>, const mvcc::DeleteRangeRequest& request) {
  return StringOf(EncodeDeleteRange(request));
}
std::string Anew(EntryKind<RequestKind::kTxn>, const mvcc::TxnRequest& request) {
  return StringOf(EncodeTxn(request));
}
std::string Anew(EntryKind<RequestKind::kCompaction>, const CompactionRequest& request) {
  return StringOf(EncodeCompaction(request));
}
std::string Anew(EntryKind<RequestKind::kLeaseGrant>, const LeaseGrantRequest& request) {
  return EncodeLeaseGrant(request);
}
std::string Anew(EntryKind<RequestKind::kLeaseRevoke>, lease::LeaseId id) {
  return EncodeLeaseId(id);
}
std::string Anew(EntryKind<RequestKind::kAlarm>, const AlarmRequest& request) {
  return EncodeAlarmRequest(request);
}
std::string Anew(EntryKind<RequestKind::kAuthEnable>, EmptyBody) { return {}; }
std::string Anew(EntryKind<RequestKind::kAuthDisable>, EmptyBody) { return {}; }
std::string Anew(EntryKind<RequestKind::kUserAdd>, const UserPasswordRequest& request) {
  return logged::EncodeUserAdd(request);
}
std::string Anew(EntryKind<RequestKind::kUserChangePassword>, const UserPasswordRequest& request) {
  return EncodeChangePassword(request);
}
std::string Anew(EntryKind<RequestKind::kUserDelete>, std::string_view name) {
  return logged::EncodeName(name);
}
std::string Anew(EntryKind<RequestKind::kRoleAdd>, std::string_view name) {
  return logged::EncodeName(name);
}
std::string Anew(EntryKind<RequestKind::kRoleDelete>, std::string_view name) {
  return logged::EncodeName(name);
}
std::string Anew(EntryKind<RequestKind::kUserGrantRole>, const UserRoleRequest& request) {
  return logged::EncodeUserRole(request);
}
std::string Anew(EntryKind<RequestKind::kUserRevokeRole>, const UserRoleRequest& request) {
  return logged::EncodeUserRole(request);
}
std::string Anew(EntryKind<RequestKind::kRoleGrantPermission>,
                 const GrantPermissionRequest& request) {
  return logged::EncodeGrantPermission(request);
}
std::string Anew(EntryKind<RequestKind::kRoleRevokePermission>,
                 const RevokePermissionRequest& request) {
  return logged::EncodeRevokePermission(request);
}

std::vector<bool> NestAll(std::vector<mvcc::RequestOp>& operations) {
  std::vector<bool> nested(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    nested[i] = std::holds_alternative<mvcc::RangeRequest>(operations[i]);
    if (!nested[i]) continue;
    auto txn = std::make_unique<mvcc::TxnRequest>();
    txn->success.push_back(std::move(operations[i]));
    operations[i] = std::move(txn);
  }
  return nested;
}

}  // namespace

std::string Rewrite(RequestKind kind, std::string_view body) {
  auto rewritten = VisitEntryKind(kind, [&]<class Kind>(Kind entry_kind) -> Result<std::string> {
    if constexpr (requires(const typename Kind::Body& decoded) { Anew(entry_kind, decoded); }) {
      KV_TRY(const typename Kind::Body decoded, Kind::Decode(body));
      return Anew(entry_kind, decoded);
    } else {
      return std::string(body);
    }
  });
  return rewritten.has_value() ? *std::move(rewritten) : std::string(body);
}

NestedRanges NestRanges(mvcc::TxnRequest& request) {
  NestedRanges nested;
  nested.success = NestAll(request.success);
  nested.failure = NestAll(request.failure);
  return nested;
}

void TakeOut(const NestedRanges& nested, mvcc::TxnResult& result) {
  const std::vector<bool>& branch = result.succeeded ? nested.success : nested.failure;
  for (std::size_t i = 0; i < branch.size() && i < result.responses.size(); ++i) {
    if (!branch[i]) continue;
    mvcc::OpResult range = std::move(
        std::get<std::unique_ptr<mvcc::TxnResult>>(result.responses[i])->responses.front());
    result.responses[i] = std::move(range);
  }
}

}  // namespace kvorum::server
