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

User::~User() {
  delete permissions_.load(std::memory_order_acquire);
  delete inverted_ranges_.load(std::memory_order_acquire);
}

bool User::MayRead(std::string_view key, std::string_view range_end) const {
  if (IsInverted(key, range_end)) [[unlikely]]
    return MadeOnce(inverted_ranges_).MayRead(key, range_end);
  return permissions().MayRead(key, range_end);
}

bool User::MayWrite(std::string_view key, std::string_view range_end) const {
  if (IsInverted(key, range_end)) [[unlikely]]
    return MadeOnce(inverted_ranges_).MayWrite(key, range_end);
  return permissions().MayWrite(key, range_end);
}

const PermissionSet& User::permissions() const { return MadeOnce(permissions_); }

template <class T>
const T& User::MadeOnce(std::atomic<const T*>& made) const {
  if (const T* known = made.load(std::memory_order_acquire)) [[likely]]
    return *known;
  std::vector<const Permission*> permissions;
  for (const auto& role : roles_)
    for (const Permission& permission : role->record().permissions)
      permissions.push_back(&permission);
  auto mine = std::make_unique<const T>(permissions);
  // Threads that come here at the same time all make equal ones; the first one's is kept.
  const T* first = nullptr;
  if (made.compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel))
    return *mine.release();
  return *first;
}

}  // namespace kvorum::auth
