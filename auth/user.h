// A role and a user within a snapshot of the auth state (auth_state.h).
//
// Immutable, shared between snapshots until they change; thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/auth_record.h"
#include "auth/inverted_ranges.h"
#include "auth/permission_set.h"

namespace kvorum::auth {

class Role {
 public:
  Role(RoleRecord record, std::uint64_t changed_revision)
      : record_(std::move(record)), changed_revision_(changed_revision) {}

  const std::string& name() const { return record_.name; }
  const RoleRecord& record() const { return record_; }
  // The auth revision at which its permissions last changed.
  std::uint64_t changed_revision() const { return changed_revision_; }
  // The permissions that RoleGet shows. Those of root are in no record.
  std::vector<Permission> ShownPermissions() const;

 private:
  RoleRecord record_;
  std::uint64_t changed_revision_;
};

class User {
 public:
  // `roles`: those named in the record that exist.
  User(std::shared_ptr<const UserRecord> record, std::uint64_t own_revision,
       std::uint64_t sessions_since, std::vector<std::shared_ptr<const Role>> roles);
  ~User();
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  const std::string& name() const { return record_->name; }
  const std::string& password_hash() const { return record_->password_hash; }
  bool is_without_password() const { return record_->is_without_password(); }
  // Sorted.
  const std::vector<std::string>& roles() const { return record_->roles; }
  bool HasRole(std::string_view role) const {
    return std::ranges::binary_search(record_->roles, role);
  }
  bool is_root() const { return is_root_; }
  // The auth revision of the last change that affects what a token issued to this user may do: to
  // the user itself, its password, its roles, or the permissions of one of them.
  std::uint64_t changed_revision() const { return changed_revision_; }
  // True if its roles let it read, or write, the whole range. The set is made at the first call,
  // O(n log n), and kept. Any thread.
  bool MayRead(std::string_view key, std::string_view range_end) const;
  bool MayWrite(std::string_view key, std::string_view range_end) const;
  // The merged permissions.
  const PermissionSet& permissions() const;

  const std::shared_ptr<const UserRecord>& record() const { return record_; }
  std::uint64_t own_revision() const { return own_revision_; }
  // The auth revision at which its sessions were last ended, or a later one at which the user
  // itself changed: sessions are in memory only, and so is this.
  std::uint64_t sessions_since() const { return sessions_since_; }

 private:
  // Makes it from the permissions of all roles, unless it exists.
  template <class T>
  const T& MadeOnce(std::atomic<const T*>& made) const;

  const std::shared_ptr<const UserRecord> record_;
  const std::uint64_t own_revision_;
  const std::uint64_t sessions_since_;
  const std::vector<std::shared_ptr<const Role>> roles_;
  const bool is_root_;
  std::uint64_t changed_revision_;
  // Owned; set once. The second only when a request needs it.
  mutable std::atomic<const PermissionSet*> permissions_ = nullptr;
  mutable std::atomic<const InvertedRanges*> inverted_ranges_ = nullptr;
};

}  // namespace kvorum::auth
