#include "server/call/body_table.h"

#include <algorithm>

#include "proto/wire.h"
#include "server/messages/alarm.h"
#include "server/messages/auth_messages.h"
#include "server/messages/cluster_encode.h"
#include "server/messages/kv_decode.h"
#include "server/messages/lease_messages.h"
#include "server/messages/lock_messages.h"
#include "server/messages/maintenance_encode.h"

namespace kvorum::server {
namespace {

Result<void> NoFields(std::string_view request) {
  wire::Reader reader(request);
  while (reader.Next()) reader.Skip();
  if (!reader.ok()) return MalformedRequest();
  return {};
}

template <auto decode>
Result<void> Readable(std::string_view request) {
  const auto decoded = decode(request);
  if (!decoded.has_value()) return std::unexpected(decoded.error());
  return {};
}

constexpr BodyRule WithoutFields(std::string_view service, std::string_view method) {
  return {.service = service, .method = method, .check = NoFields, .handler_reads = false};
}
template <auto decode>
constexpr BodyRule ReadBy(std::string_view service, std::string_view method) {
  return {.service = service, .method = method, .check = Readable<decode>, .handler_reads = true};
}

constexpr std::string_view kKv = "etcdserverpb.KV";
constexpr std::string_view kLease = "etcdserverpb.Lease";
constexpr std::string_view kCluster = "etcdserverpb.Cluster";
constexpr std::string_view kMaintenance = "etcdserverpb.Maintenance";
constexpr std::string_view kAuth = "etcdserverpb.Auth";
constexpr std::string_view kLock = "v3lockpb.Lock";
constexpr std::string_view kElection = "v3electionpb.Election";

constexpr BodyRule kRules[] = {
    ReadBy<DecodeRange>(kKv, "Range"),
    ReadBy<DecodePut>(kKv, "Put"),
    ReadBy<DecodeDeleteRange>(kKv, "DeleteRange"),
    ReadBy<DecodeTxn>(kKv, "Txn"),
    ReadBy<DecodeCompaction>(kKv, "Compact"),
    ReadBy<DecodeLeaseGrant>(kLease, "LeaseGrant"),
    ReadBy<DecodeLeaseId>(kLease, "LeaseRevoke"),
    ReadBy<DecodeLeaseTimeToLive>(kLease, "LeaseTimeToLive"),
    WithoutFields(kLease, "LeaseLeases"),
    ReadBy<DecodeMemberAddRequest>(kCluster, "MemberAdd"),
    ReadBy<DecodeMemberId>(kCluster, "MemberRemove"),
    ReadBy<DecodeMemberUpdateRequest>(kCluster, "MemberUpdate"),
    ReadBy<DecodeMemberId>(kCluster, "MemberPromote"),
    ReadBy<DecodeMemberListRequest>(kCluster, "MemberList"),
    ReadBy<DecodeAlarmRequest>(kMaintenance, "Alarm"),
    WithoutFields(kMaintenance, "Status"),
    WithoutFields(kMaintenance, "Defragment"),
    WithoutFields(kMaintenance, "Hash"),
    ReadBy<DecodeHashKvRequest>(kMaintenance, "HashKV"),
    ReadBy<DecodeMoveLeaderRequest>(kMaintenance, "MoveLeader"),
    WithoutFields(kMaintenance, "Downgrade"),  // not served: its fields are nobody's
    WithoutFields(kAuth, "AuthEnable"),
    WithoutFields(kAuth, "AuthDisable"),
    WithoutFields(kAuth, "AuthStatus"),
    ReadBy<DecodeAuthenticate>(kAuth, "Authenticate"),
    ReadBy<DecodeUserAdd>(kAuth, "UserAdd"),
    ReadBy<DecodeName>(kAuth, "UserGet"),
    WithoutFields(kAuth, "UserList"),
    ReadBy<DecodeName>(kAuth, "UserDelete"),
    ReadBy<DecodeChangePassword>(kAuth, "UserChangePassword"),
    ReadBy<DecodeUserRole>(kAuth, "UserGrantRole"),
    ReadBy<DecodeUserRole>(kAuth, "UserRevokeRole"),
    ReadBy<DecodeName>(kAuth, "RoleAdd"),
    ReadBy<DecodeName>(kAuth, "RoleGet"),
    WithoutFields(kAuth, "RoleList"),
    ReadBy<DecodeName>(kAuth, "RoleDelete"),
    ReadBy<DecodeGrantPermission>(kAuth, "RoleGrantPermission"),
    ReadBy<DecodeRevokePermission>(kAuth, "RoleRevokePermission"),
    ReadBy<DecodeLock>(kLock, "Lock"),
    ReadBy<DecodeOnlyBytes>(kLock, "Unlock"),
    ReadBy<DecodeCampaign>(kElection, "Campaign"),
    ReadBy<DecodeProclaim>(kElection, "Proclaim"),
    ReadBy<DecodeOnlyBytes>(kElection, "Leader"),
    ReadBy<DecodeResign>(kElection, "Resign"),
};

}  // namespace

std::span<const BodyRule> BodyRules() { return kRules; }

const BodyRule* FindBodyRule(std::string_view service, std::string_view method) {
  const auto* const found = std::ranges::find_if(kRules, [&](const BodyRule& rule) {
    return rule.service == service && rule.method == method;
  });
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace kvorum::server
