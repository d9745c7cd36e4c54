#include "auth/user.h"

#include <utility>

namespace kvorum::auth {

std::vector<Permission> Role::ShownPermissions() const {
  if (name() == kRootRole) return {{PermissionType::kReadWrite, "", std::string(1, '\0')}};
  return record_.permissions;
}

User::User(std::shared_ptr<const UserRecord> record, std::uint64_t own_revision,
           std::uint64_t sessions_since, std::vector<std::shared_ptr<const Role>> roles)
    : record_(std::move(record)),
      own_revision_(own_revision),
      sessions_since_(sessions_since),
      roles_(std::move(roles)),
      is_root_(HasRole(kRootRole)),
      changed_revision_(own_revision) {
  for (const auto& role : roles_)
    changed_revision_ = std::max(changed_revision_, role->changed_revision());
}

User::~User() { delete permissions_.load(std::memory_order_acquire); }

const PermissionSet& User::permissions() const {
  if (const PermissionSet* set = permissions_.load(std::memory_order_acquire)) [[likely]]
    return *set;
  std::vector<const Permission*> permissions;
  for (const auto& role : roles_)
    for (const Permission& permission : role->record().permissions)
      permissions.push_back(&permission);
  auto merged = std::make_unique<const PermissionSet>(permissions);
  // Threads that come here together all make the same; the first one's stays.
  const PermissionSet* first = nullptr;
  if (permissions_.compare_exchange_strong(first, merged.get(), std::memory_order_acq_rel))
    return *merged.release();
  return *first;
}

}  // namespace kvorum::auth
