// The kinds of requests in log entries, in one table: a new kind is a row here and the function
// that applies it (server/apply). entry_kinds.h makes types of the rows, this header only their
// names. A kind without a row does not exist, and one that nothing applies does not compile.
#pragma once

#include <cstdint>

// The columns: the name; the number of the field of etcdserverpb.InternalRaftRequest; the decoder
// of the request's own message, as in the log; the rules that each member checks for its own
// clients, and for peers; the bytes that count against the quota; the effect of a CORRUPT alarm on
// it. A NOSPACE alarm refuses every kind with a cost.
//
// Applied without effect: an entry without a request, and the reads of users and roles that members
// of etcd send through the log.
#define KV_ENTRY_KINDS(ROW)                                                                   \
  ROW(kNone, 0, DecodeWithoutEffect, NoRules, NoCost, kApplied)                               \
  ROW(kPut, 4, DecodePut, mvcc::CheckPut, mvcc::QuotaCost, kRefused)                          \
  ROW(kDeleteRange, 5, DecodeDeleteRange, mvcc::CheckDeleteRange, NoCost, kRefused)           \
  ROW(kTxn, 6, DecodeTxn, CheckTxnOfAnySize, mvcc::QuotaCost, kRefused)                       \
  ROW(kCompaction, 7, DecodeCompaction, NoRules, NoCost, kRefused)                            \
  ROW(kLeaseGrant, 8, DecodeLeaseGrant, NoRules, LeaseCost, kRefused)                         \
  ROW(kLeaseRevoke, 9, DecodeLeaseId, NoRules, NoCost, kRefused)                              \
  ROW(kAlarm, 10, DecodeAlarmRequest, NoRules, NoCost, kApplied)                              \
  ROW(kLeaseCheckpoint, 11, DecodeLeaseCheckpoints, NoRules, NoCost, kApplied)                \
  ROW(kAuthEnable, 1000, DecodeEmpty, NoRules, NoCost, kApplied)                              \
  ROW(kAuthDisable, 1011, DecodeEmpty, NoRules, NoCost, kApplied)                             \
  ROW(kAuthenticate, 1012, DecodeLoginEntry, NoRules, NoCost, kApplied)                       \
  ROW(kAuthStatus, 1013, DecodeWithoutEffect, NoRules, NoCost, kApplied)                      \
  ROW(kUserAdd, 1100, logged::DecodeUserAdd, NoRules, NoCost, kApplied)                       \
  ROW(kUserDelete, 1101, logged::DecodeName, NoRules, NoCost, kApplied)                       \
  ROW(kUserGet, 1102, DecodeWithoutEffect, NoRules, NoCost, kApplied)                         \
  ROW(kUserChangePassword, 1103, logged::DecodeChangePassword, NoRules, NoCost, kApplied)     \
  ROW(kUserGrantRole, 1104, logged::DecodeUserRole, NoRules, NoCost, kApplied)                \
  ROW(kUserRevokeRole, 1105, logged::DecodeUserRole, NoRules, NoCost, kApplied)               \
  ROW(kUserList, 1106, DecodeWithoutEffect, NoRules, NoCost, kApplied)                        \
  ROW(kRoleList, 1107, DecodeWithoutEffect, NoRules, NoCost, kApplied)                        \
  ROW(kRoleAdd, 1200, logged::DecodeName, NoRules, NoCost, kApplied)                          \
  ROW(kRoleDelete, 1201, logged::DecodeName, NoRules, NoCost, kApplied)                       \
  ROW(kRoleGet, 1202, DecodeWithoutEffect, NoRules, NoCost, kApplied)                         \
  ROW(kRoleGrantPermission, 1203, logged::DecodeGrantPermission, NoRules, NoCost, kApplied)   \
  ROW(kRoleRevokePermission, 1204, logged::DecodeRevokePermission, NoRules, NoCost, kApplied) \
  ROW(kClusterVersionSet, 1300, DecodeClusterVersion, NoRules, NoCost, kApplied)              \
  ROW(kMemberAttributesSet, 1301, DecodeMemberAttributes, NoRules, NoCost, kApplied)          \
  ROW(kDowngradeInfoSet, 1302, DecodeDowngradeEntry, NoRules, NoCost, kApplied)

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
