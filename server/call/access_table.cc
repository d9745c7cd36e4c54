#include "server/call/access_table.h"

#include <algorithm>

#include "base/api_errors.h"
#include "mvcc/validate.h"
#include "server/messages/auth_messages.h"
#include "server/messages/kv_decode.h"
#include "server/messages/lease_messages.h"

namespace kvorum::server {
namespace {

using Question = AccessRule::Question;

// Somebody who shows no token, too; but none that is wrong.
Result<void> Anyone(const Question&) { return {}; }

Result<void> LoggedIn(const Question& question) {
  if (question.state.enabled() && question.identity.username.empty()) return kErrUserEmpty.Fail();
  return {};
}

Result<void> Root(const Question& question) { return question.state.CheckAdmin(question.identity); }

// A request that cannot be read, or asks for nonsense, is told so by its handler.
template <class Decoded, class IsSound>
Result<void> Keys(const Question& question, const Decoded& request, IsSound is_sound) {
  if (!request.has_value()) return {};
  auto verdict = KeyAccess(question.state, question.identity, question.lease_keys).Check(*request);
  if (!verdict.has_value() && !is_sound(*request).has_value()) return {};
  return verdict;
}

Result<void> Put(const Question& question) {
  return Keys(question, DecodePut(question.request), mvcc::CheckPut);
}
Result<void> Delete(const Question& question) {
  return Keys(question, DecodeDeleteRange(question.request), mvcc::CheckDeleteRange);
}
// Its soundness comes first, since it bounds what there is to look at.
Result<void> Txn(const Question& question) {
  const auto request = DecodeTxn(question.request);
  if (!request.has_value() || !mvcc::CheckTxn(*request, question.max_txn_ops).has_value())
    return {};
  return KeyAccess(question.state, question.identity, question.lease_keys).Check(*request);
}

Result<void> RevokeLease(const Question& question) {
  KV_RETURN_IF_ERROR(LoggedIn(question));
  const auto id = DecodeLeaseId(question.request);
  if (!id.has_value()) return {};
  return KeyAccess(question.state, question.identity, question.lease_keys).CheckLease(*id);
}

Result<void> Alarm(const Question& question) {
  const auto request = DecodeAlarmRequest(question.request);
  const bool is_question = request.has_value() && request->action == AlarmAction::kGet;
  return is_question ? LoggedIn(question) : Root(question);
}

Result<void> OwnUser(const Question& question) {
  const auto name = DecodeName(question.request);
  const bool is_own = name.has_value() && *name == question.identity.username;
  return is_own ? Result<void>() : Root(question);
}

Result<void> OwnRole(const Question& question) {
  const auto name = DecodeName(question.request);
  const bool is_own =
      name.has_value() && question.state.UserHasRole(question.identity.username, *name);
  return is_own ? Result<void>() : Root(question);
}

constexpr std::string_view kKv = "etcdserverpb.KV";
constexpr std::string_view kLease = "etcdserverpb.Lease";
constexpr std::string_view kCluster = "etcdserverpb.Cluster";
constexpr std::string_view kMaintenance = "etcdserverpb.Maintenance";
constexpr std::string_view kAuth = "etcdserverpb.Auth";
constexpr std::string_view kLock = "v3lockpb.Lock";
constexpr std::string_view kElection = "v3electionpb.Election";
constexpr std::string_view kHealth = "grpc.health.v1.Health";

constexpr AccessRule kRules[] = {
    {kKv, "Range", Anyone},        // where it is read, in the very state that is read
    {kKv, "RangeStream", Anyone},  // so is each of its parts
    {kKv, "Put", Put},
    {kKv, "DeleteRange", Delete},
    {kKv, "Txn", Txn},
    {kKv, "Compact", Root},
    {"etcdserverpb.Watch", "Watch", nullptr},  // each watcher that is created
    {kLease, "LeaseGrant", LoggedIn},
    {kLease, "LeaseRevoke", RevokeLease},
    {kLease, "LeaseKeepAlive", nullptr},    // each renewal
    {kLease, "LeaseTimeToLive", LoggedIn},  // the keys that are told
    {kLease, "LeaseLeases", LoggedIn},      // the keys of all
    {kCluster, "MemberAdd", Root},
    {kCluster, "MemberRemove", Root},
    {kCluster, "MemberUpdate", Root},
    {kCluster, "MemberPromote", Root},
    {kCluster, "MemberList", LoggedIn},
    {kMaintenance, "Alarm", Alarm},
    {kMaintenance, "Status", LoggedIn},
    {kMaintenance, "Defragment", Root},
    {kMaintenance, "Hash", Root},
    {kMaintenance, "HashKV", Root},
    {kMaintenance, "Snapshot", Root},
    {kMaintenance, "MoveLeader", Root},
    {kMaintenance, "Downgrade", Root},
    {kAuth, "AuthEnable", Root},
    {kAuth, "AuthDisable", Root},
    {kAuth, "AuthStatus", Anyone},
    {kAuth, "Authenticate", nullptr},
    {kAuth, "UserAdd", Root},
    {kAuth, "UserGet", OwnUser},
    {kAuth, "UserList", Root},
    {kAuth, "UserDelete", Root},
    {kAuth, "UserChangePassword", Root},
    {kAuth, "UserGrantRole", Root},
    {kAuth, "UserRevokeRole", Root},
    {kAuth, "RoleAdd", Root},
    {kAuth, "RoleGet", OwnRole},
    {kAuth, "RoleList", Root},
    {kAuth, "RoleDelete", Root},
    {kAuth, "RoleGrantPermission", Root},
    {kAuth, "RoleRevokePermission", Root},
    // What they do to keys is asked in the caller's name.
    {kLock, "Lock", LoggedIn},
    {kLock, "Unlock", LoggedIn},
    {kElection, "Campaign", LoggedIn},
    {kElection, "Proclaim", LoggedIn},
    {kElection, "Leader", LoggedIn},
    {kElection, "Observe", LoggedIn},
    {kElection, "Resign", LoggedIn},
    {kHealth, "Check", nullptr},
    {kHealth, "List", nullptr},
    {kHealth, "Watch", nullptr},
};

}  // namespace

std::span<const AccessRule> AccessRules() { return kRules; }

const AccessRule* FindAccessRule(std::string_view service, std::string_view method) {
  const auto* const found = std::ranges::find_if(kRules, [&](const AccessRule& rule) {
    return rule.service == service && rule.method == method;
  });
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace kvorum::server
