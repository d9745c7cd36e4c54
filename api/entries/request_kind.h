// The kinds of requests in log entries, in one table: a new kind is a row here and the function
// that applies it (server/apply). entry_kinds.h makes types of the rows, this header only their
// names. A kind without a row does not exist, and one that nothing applies does not compile.
#pragma once

#include <cstdint>

// The columns: the name; the number of the field of etcdserverpb.InternalRaftRequest, its name and
// its message, which say how a line of the log shows it (request_summary.h); the decoder of the
// request's own message, as in the log; the rules that each member checks for its own
// clients, and for peers; the bytes that count against the quota; the effect of a CORRUPT alarm on
// it. A NOSPACE alarm refuses every kind with a cost.
//
// Applied without effect: an entry without a request, and the reads of users and roles that members
// of etcd send through the log.
#define KV_ENTRY_KINDS(ROW)                                                                        \
  ROW(kNone, 0, "", "", DecodeWithoutEffect, NoRules, NoCost, kApplied)                            \
  ROW(kPut, 4, "put", "etcdserverpb.PutRequest", DecodePut, mvcc::CheckPut, mvcc::QuotaCost,       \
      kRefused)                                                                                    \
  ROW(kDeleteRange, 5, "delete_range", "etcdserverpb.DeleteRangeRequest", DecodeDeleteRange,       \
      mvcc::CheckDeleteRange, NoCost, kRefused)                                                    \
  ROW(kTxn, 6, "txn", "etcdserverpb.TxnRequest", DecodeTxn, CheckTxnOfAnySize, mvcc::QuotaCost,    \
      kRefused)                                                                                    \
  ROW(kCompaction, 7, "compaction", "etcdserverpb.CompactionRequest", DecodeCompaction, NoRules,   \
      NoCost, kRefused)                                                                            \
  ROW(kLeaseGrant, 8, "lease_grant", "etcdserverpb.LeaseGrantRequest", DecodeLeaseGrant, NoRules,  \
      LeaseCost, kRefused)                                                                         \
  ROW(kLeaseRevoke, 9, "lease_revoke", "etcdserverpb.LeaseRevokeRequest", DecodeLeaseId, NoRules,  \
      NoCost, kRefused)                                                                            \
  ROW(kAlarm, 10, "alarm", "etcdserverpb.AlarmRequest", DecodeAlarmRequest, NoRules, NoCost,       \
      kApplied)                                                                                    \
  ROW(kLeaseCheckpoint, 11, "lease_checkpoint", "etcdserverpb.LeaseCheckpointRequest",             \
      DecodeLeaseCheckpoints, NoRules, NoCost, kApplied)                                           \
  ROW(kAuthEnable, 1000, "auth_enable", "etcdserverpb.AuthEnableRequest", DecodeEmpty, NoRules,    \
      NoCost, kApplied)                                                                            \
  ROW(kAuthDisable, 1011, "auth_disable", "etcdserverpb.AuthDisableRequest", DecodeEmpty, NoRules, \
      NoCost, kApplied)                                                                            \
  ROW(kAuthenticate, 1012, "authenticate", "etcdserverpb.InternalAuthenticateRequest",             \
      DecodeLoginEntry, NoRules, NoCost, kApplied)                                                 \
  ROW(kAuthStatus, 1013, "auth_status", "etcdserverpb.AuthStatusRequest", DecodeWithoutEffect,     \
      NoRules, NoCost, kApplied)                                                                   \
  ROW(kUserAdd, 1100, "auth_user_add", "etcdserverpb.AuthUserAddRequest", logged::DecodeUserAdd,   \
      NoRules, NoCost, kApplied)                                                                   \
  ROW(kUserDelete, 1101, "auth_user_delete", "etcdserverpb.AuthUserDeleteRequest",                 \
      logged::DecodeName, NoRules, NoCost, kApplied)                                               \
  ROW(kUserGet, 1102, "auth_user_get", "etcdserverpb.AuthUserGetRequest", DecodeWithoutEffect,     \
      NoRules, NoCost, kApplied)                                                                   \
  ROW(kUserChangePassword, 1103, "auth_user_change_password",                                      \
      "etcdserverpb.AuthUserChangePasswordRequest", logged::DecodeChangePassword, NoRules, NoCost, \
      kApplied)                                                                                    \
  ROW(kUserGrantRole, 1104, "auth_user_grant_role", "etcdserverpb.AuthUserGrantRoleRequest",       \
      logged::DecodeUserRole, NoRules, NoCost, kApplied)                                           \
  ROW(kUserRevokeRole, 1105, "auth_user_revoke_role", "etcdserverpb.AuthUserRevokeRoleRequest",    \
      logged::DecodeUserRole, NoRules, NoCost, kApplied)                                           \
  ROW(kUserList, 1106, "auth_user_list", "etcdserverpb.AuthUserListRequest", DecodeWithoutEffect,  \
      NoRules, NoCost, kApplied)                                                                   \
  ROW(kRoleList, 1107, "auth_role_list", "etcdserverpb.AuthRoleListRequest", DecodeWithoutEffect,  \
      NoRules, NoCost, kApplied)                                                                   \
  ROW(kRoleAdd, 1200, "auth_role_add", "etcdserverpb.AuthRoleAddRequest", logged::DecodeName,      \
      NoRules, NoCost, kApplied)                                                                   \
  ROW(kRoleDelete, 1201, "auth_role_delete", "etcdserverpb.AuthRoleDeleteRequest",                 \
      logged::DecodeName, NoRules, NoCost, kApplied)                                               \
  ROW(kRoleGet, 1202, "auth_role_get", "etcdserverpb.AuthRoleGetRequest", DecodeWithoutEffect,     \
      NoRules, NoCost, kApplied)                                                                   \
  ROW(kRoleGrantPermission, 1203, "auth_role_grant_permission",                                    \
      "etcdserverpb.AuthRoleGrantPermissionRequest", logged::DecodeGrantPermission, NoRules,       \
      NoCost, kApplied)                                                                            \
  ROW(kRoleRevokePermission, 1204, "auth_role_revoke_permission",                                  \
      "etcdserverpb.AuthRoleRevokePermissionRequest", logged::DecodeRevokePermission, NoRules,     \
      NoCost, kApplied)                                                                            \
  ROW(kClusterVersionSet, 1300, "cluster_version_set", "membershippb.ClusterVersionSetRequest",    \
      DecodeClusterVersion, NoRules, NoCost, kApplied)                                             \
  ROW(kMemberAttributesSet, 1301, "cluster_member_attr_set",                                       \
      "membershippb.ClusterMemberAttrSetRequest", DecodeMemberAttributes, NoRules, NoCost,         \
      kApplied)                                                                                    \
  ROW(kDowngradeInfoSet, 1302, "downgrade_info_set", "membershippb.DowngradeInfoSetRequest",       \
      DecodeDowngradeEntry, NoRules, NoCost, kApplied)

namespace kvorum::server {

#define KV_ENTRY_KIND(name, number, ...) name = (number),
// The type is as wide as a field's number, so that no number is mistaken for another.
enum class RequestKind : std::uint32_t { KV_ENTRY_KINDS(KV_ENTRY_KIND) };
#undef KV_ENTRY_KIND

// The kinds by which clients change keys.
constexpr bool IsKeyWrite(RequestKind kind) {
  return kind == RequestKind::kPut || kind == RequestKind::kDeleteRange ||
         kind == RequestKind::kTxn;
}

// The kinds whose entry may be in the log twice as well as once, so that a proposal which may have
// got lost is made again. A put is not one of them: writes of others in between would be undone.
constexpr bool IsRepeatable(RequestKind kind) { return kind == RequestKind::kMemberAttributesSet; }

enum class UnderCorruptAlarm : bool { kApplied, kRefused };

// The row of a kind (entry_kinds.h).
template <RequestKind>
struct EntryKind;

}  // namespace kvorum::server
