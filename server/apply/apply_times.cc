#include "server/apply/apply_times.h"

#include <algorithm>
#include <iterator>

namespace kvorum::server {
namespace {

struct Renamed {
  RequestKind kind;
  std::string_view op;
};
constexpr Renamed kRenamed[] = {
    {RequestKind::kClusterVersionSet, "ClusterVersionSet"},
    {RequestKind::kMemberAttributesSet, "ClusterMemberAttrSet"},
    {RequestKind::kUserAdd, "AuthUserAdd"},
    {RequestKind::kUserDelete, "AuthUserDelete"},
    {RequestKind::kUserGet, "AuthUserGet"},
    {RequestKind::kUserChangePassword, "AuthUserChangePassword"},
    {RequestKind::kUserGrantRole, "AuthUserGrantRole"},
    {RequestKind::kUserRevokeRole, "AuthUserRevokeRole"},
    {RequestKind::kUserList, "AuthUserList"},
    {RequestKind::kRoleList, "AuthRoleList"},
    {RequestKind::kRoleAdd, "AuthRoleAdd"},
    {RequestKind::kRoleDelete, "AuthRoleDelete"},
    {RequestKind::kRoleGet, "AuthRoleGet"},
    {RequestKind::kRoleGrantPermission, "AuthRoleGrantPermission"},
    {RequestKind::kRoleRevokePermission, "AuthRoleRevokePermission"},
    {RequestKind::kNone, "unknown"},
};

// The row's name, unless etcd has another one.
std::string_view OpOf(RequestKind kind) {
  const auto renamed = std::ranges::find(kRenamed, kind, &Renamed::kind);
  if (renamed != std::end(kRenamed)) return renamed->op;
#define KV_ENTRY_KIND(name, ...) \
  if (kind == RequestKind::name) return std::string_view(#name).substr(1);
  KV_ENTRY_KINDS(KV_ENTRY_KIND)
#undef KV_ENTRY_KIND
  return "unknown";
}

}  // namespace

void ApplyTimes::Observe(Duration took) {
  std::uint64_t entries = 0;
  for (const auto& [key, count] : batch_) entries += count;
  if (entries == 0) return;
  const std::uint64_t each = static_cast<std::uint64_t>(took.count()) / entries;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, count] : batch_)
    times_.try_emplace(key, DoublingBounds(0.0001, 20)).first->second.Observe(each, count);
  batch_.clear();
}

void ApplyTimes::ForEach(const Visit& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, times] : times_) visit(OpOf(key.first), key.second, times);
}

}  // namespace kvorum::server
