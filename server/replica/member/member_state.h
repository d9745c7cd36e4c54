// This member's copy of the replicated state: the store with its leases, members, alarms and users.
// Opened from a backend, and replaced as a whole by a leader's snapshot.
//
// Threading: Install runs on the apply executor; see the parts for who may use them. Ownership:
// owns all of them. Invariant: they are of one and the same applied index whenever the apply
// executor is between two entries.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "lease/lessor.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/store/store.h"
#include "proto/raft_types.h"
#include "server/replica/upkeep/disk_space.h"
#include "server/state/alarms.h"
#include "server/state/auth_states.h"
#include "server/state/leases.h"
#include "server/state/membership.h"
#include "server/state/quota.h"
#include "server/state/replicated_state.h"

namespace kvorum::auth {
class AuthStore;
class SimpleTokens;
}  // namespace kvorum::auth

namespace kvorum::server {

class AuthApplier;
struct LocalMemberOptions;

class MemberState {
 public:
  ~MemberState();

  struct Hooks {
    std::function<void(const Error& error)> on_fatal;
    // The store has everything up to this index on disk; on the backend executor.
    std::function<void(raft::Index index)> on_durable;
  };

  // Opens the store. kFailedPrecondition for a backend of another storage version.
  static Result<std::unique_ptr<MemberState>> Open(FileSystem& fs,
                                                   std::unique_ptr<mvcc::Backend> backend,
                                                   mvcc::StoreExecutors executors,
                                                   const LocalMemberOptions& options, Hooks hooks);
  // Reads the rest; only the store is there before. kDataLoss for a backend that no member can have
  // written.
  Result<void> Load(raft::MemberId self, auth::SimpleTokens* tokens);

  mvcc::Store& store() { return *store_; }
  Membership& membership() { return *membership_; }
  Alarms& alarms() { return alarms_; }
  Leases& leases() { return *leases_; }
  const AuthStates& auth_states() const { return *auth_states_; }
  AuthApplier& auth_applier() { return *auth_applier_; }
  Quota& quota() { return *quota_; }
  // Shared with snapshots being sent, which may outlive this.
  const std::shared_ptr<DiskSpace>& disk_space() const { return disk_space_; }

  // Replaces all of it by a received snapshot, then runs `installed`.
  void Install(const raft::SnapshotMetadata& metadata, mvcc::BackendOpener open, Task installed);

 private:
  MemberState(FileSystem& fs, mvcc::StoreExecutors executors, const LocalMemberOptions& options);

  // Called before the index of a backend is built, so that its keys find their leases.
  Result<void> LoadLeases(mvcc::Backend& backend);
  Result<void> OpenStore(FileSystem& fs, std::unique_ptr<mvcc::Backend> backend,
                         mvcc::StoreExecutors executors, const LocalMemberOptions& options,
                         Hooks hooks);
  void Exchange(ReplicatedState state);
  void EndDatabaseNote();

  FileSystem& fs_;
  const std::string snap_dir_;
  const std::string database_note_;
  std::shared_ptr<DiskSpace> disk_space_;
  std::unique_ptr<Leases> leases_;
  lease::LeaseTable restored_leases_;  // of the content whose index is being built
  std::unique_ptr<mvcc::Store> store_;
  std::unique_ptr<Membership> membership_;
  Alarms alarms_;
  std::unique_ptr<auth::AuthStore> auth_;
  std::unique_ptr<AuthStates> auth_states_;
  std::unique_ptr<AuthApplier> auth_applier_;
  std::unique_ptr<Quota> quota_;
};

}  // namespace kvorum::server
