#include "server/replica/member/member_state.h"

#include <string_view>
#include <utility>

#include "api/version.h"
#include "auth/auth_store.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "datadir/snapshot_files.h"
#include "server/apply/auth_applier.h"
#include "server/replica/recovery/backend_recovery.h"
#include "server/replica/recovery/local_member_options.h"

namespace kvorum::server {

MemberState::MemberState(FileSystem& fs, mvcc::StoreExecutors executors,
                         const LocalMemberOptions& options)
    : fs_(fs),
      snap_dir_(options.snap_dir),
      database_note_(options.database_note),
      disk_space_(std::make_shared<DiskSpace>(fs, options.snap_dir)),
      leases_(std::make_unique<Leases>(options.lease, executors.apply.clock())) {}

MemberState::~MemberState() = default;

Result<std::unique_ptr<MemberState>> MemberState::Open(FileSystem& fs,
                                                       std::unique_ptr<mvcc::Backend> backend,
                                                       mvcc::StoreExecutors executors,
                                                       const LocalMemberOptions& options,
                                                       Hooks hooks) {
  std::unique_ptr<MemberState> state(new MemberState(fs, executors, options));
  KV_RETURN_IF_ERROR(
      state->OpenStore(fs, std::move(backend), executors, options, std::move(hooks)));
  return state;
}

Result<void> MemberState::LoadLeases(mvcc::Backend& backend) {
  KV_TRY(const mvcc::Reader reader, backend.NewReader());
  KV_TRY(restored_leases_, Leases::Load(*reader));
  return {};
}

Result<void> MemberState::OpenStore(FileSystem& fs, std::unique_ptr<mvcc::Backend> backend,
                                    mvcc::StoreExecutors executors,
                                    const LocalMemberOptions& options, Hooks hooks) {
  mvcc::StoreOptions store_options = options.store;
  KV_RETURN_IF_ERROR(LoadLeases(*backend));
  store_options.leases = leases_.get();
  store_options.attachments = leases_.get();
  store_options.on_lease_attachment = [this](std::string_view key, std::int64_t lease) {
    restored_leases_.Attach(key, lease);
  };
  store_options.index_file.files = &fs;
  store_options.index_file.database_path = DatabasePath(snap_dir_);
  store_options.index_file.seed = options.seed;
  store_options.index_file.lease_of = [this](std::string_view key) {
    const lease::LeaseTable& table = leases_->table();
    return table.attached_keys() == 0 ? lease::kNoLease : table.LeaseOf(key);
  };
  store_options.index_file.attachments = {
      .count = [this] { return leases_->table().attached_keys(); },
      .parts = lease::LeaseTable::kParts,
      .visit_part =
          [this](std::size_t part, const mvcc::IndexAttachments::Visit& visit) {
            leases_->table().ForEachKeyIn(part, visit);
          }};
  store_options.commit.on_fatal = std::move(hooks.on_fatal);
  store_options.commit.on_commit = [this](const mvcc::Committer::CommitStats&) {
    disk_space_->Refresh();
  };
  if (hooks.on_durable) {
    store_options.commit.on_durable = [told = std::move(hooks.on_durable)](std::uint64_t index) {
      told(raft::Index{index});
    };
  }
  KV_TRY(store_, mvcc::Store::Open(std::move(store_options), std::move(backend), executors));
  leases_->Install(std::exchange(restored_leases_, {}));
  const std::string& version = store_->recovered().storage_version;
  if (!version.empty() && version != kStorageVersion) {
    return Fail(Code::kFailedPrecondition, "the database has storage version " + version +
                                               "; this program reads " +
                                               std::string(kStorageVersion));
  }
  quota_ = std::make_unique<Quota>(*store_, options.quota_bytes);
  return {};
}

Result<void> MemberState::Load(raft::MemberId self, auth::SimpleTokens* tokens) {
  ReplicatedState state;
  KV_RETURN_IF_ERROR(store_->LookAtDurable([&](mvcc::Snapshot& content) -> Result<void> {
    KV_TRY(state, LoadReplicatedState(content));
    return {};
  }));
  alarms_.Reset(std::move(state.alarms));
  membership_ = std::make_unique<Membership>(std::move(state.members), self);
  auth_ = std::make_unique<auth::AuthStore>(std::move(state.auth));
  auth_states_ = std::make_unique<AuthStates>(auth_->state());
  auth_applier_ = std::make_unique<AuthApplier>(*auth_, *auth_states_, *store_, *leases_, tokens);
  return {};
}

void MemberState::Install(const raft::SnapshotMetadata& metadata, mvcc::BackendOpener open,
                          Task installed) {
  auto loaded = std::make_shared<ReplicatedState>();
  const std::uint64_t auth_version = auth_states_->Reserve();
  store_->Install({.open = [this, open = std::move(open)](
                               const std::string& path) -> Result<std::unique_ptr<mvcc::Backend>> {
                     KV_TRY(auto backend, open(path));
                     KV_INFO("applySnapshot: opened snapshot backend", {"path", path});
                     KV_RETURN_IF_ERROR(LoadLeases(*backend));
                     return backend;
                   },
                   .snapshot_path = datadir::ReceivedSnapshotPath(snap_dir_, metadata.index),
                   .path = DatabasePath(snap_dir_),
                   .consistent_index = metadata.index.value(),
                   .side_version = auth_version,
                   .before_place = [this] { EndDatabaseNote(); },
                   .load = [this, loaded, auth_version](mvcc::Snapshot& content) -> Result<void> {
                     KV_TRY(*loaded, LoadReplicatedState(content));
                     auth_applier_->EndTokens(loaded->auth);
                     auth_states_->Fill(auth_version, loaded->auth.state());
                     return {};
                   }},
                  [this, loaded, installed = std::move(installed)]() mutable {
                    Exchange(std::move(*loaded));
                    installed();
                  });
}

// A restart finds the note gone and the snapshot in the place of the database, or puts it there.
void MemberState::EndDatabaseNote() {
  if (const auto ended = RemoveDatabaseNote(fs_, database_note_); !ended.has_value())
    KV_WARN("cannot remove a file", {"file", database_note_}, {"error", ended.error().message});
}

void MemberState::Exchange(ReplicatedState state) {
  KV_FAILPOINT("raftAfterApplySnap");
  alarms_.Reset(std::move(state.alarms));
  membership_->Set(std::move(state.members));
  leases_->Install(std::exchange(restored_leases_, {}));
  auth_applier_->Install(std::move(state.auth));
}

}  // namespace kvorum::server
