#include "server/replica/instance.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/failpoint.h"
#include "base/logging.h"
#include "raft/bootstrap.h"
#include "server/messages/conf_state_json.h"
#include "server/messages/internal_request.h"
#include "server/messages/member_id.h"
#include "server/messages/version.h"
#include "server/replica/bounded_source.h"
#include "server/replica/force_new_cluster.h"
#include "server/replica/snapshot_files.h"
#include "server/state/member_change.h"

namespace kvorum::server {
namespace {

constexpr Duration kAlarmTimeout = std::chrono::seconds(7);
// Each keeps pages of the database from being used again and takes from the network.
constexpr std::size_t kMaxSnapshotsOnTheirWay = 2;

Result<const Member*> FindSelf(const std::vector<Member>& members, const InstanceOptions& options) {
  const auto self = std::ranges::find(members, options.name, &Member::name);
  if (self == members.end()) {
    return Fail(Code::kInvalidArgument, "couldn't find local name \"" + options.name +
                                            "\" in the initial cluster configuration");
  }
  return &*self;
}

// Goes on once the entry was applied, or was not.
class TaskWaiter final : public Waiter {
 public:
  explicit TaskWaiter(Task task) : task_(std::move(task)) {}
  void Applied(ApplyResult) override { task_(); }
  void Failed(const Error&) override { task_(); }

 private:
  Task task_;
};

// One that comes by itself lacks its content.
bool IsSnapshot(const raft::Message& message) { return message.type == raft::MessageType::kSnap; }

std::uint64_t ClusterIdOf(const std::vector<Member>& members) {
  std::vector<raft::MemberId> ids;
  for (const Member& member : members) ids.push_back(member.id);
  return ComputeClusterId(std::move(ids));
}

}  // namespace

Result<std::unique_ptr<Instance>> Instance::Open(FileSystem& fs, mvcc::BackendOpener open_backend,
                                                 InstanceExecutors executors,
                                                 InstanceOptions options, FatalHandler on_fatal) {
  std::unique_ptr<Instance> instance(
      new Instance(std::move(open_backend), executors, options, std::move(on_fatal)));
  KV_TRY(const bool exists, wal::Exists(fs, options.wal_dir));
  KV_TRY(Log log, exists ? instance->OpenLog(fs, options) : instance->CreateLog(fs, options));
  KV_TRY(auto backend, instance->OpenBackend(fs, log.snapshot_index));
  KV_RETURN_IF_ERROR(instance->OpenStore(fs, std::move(backend), options));
  KV_RETURN_IF_ERROR(instance->CheckTogether(log));
  KV_RETURN_IF_ERROR(instance->LoadReplicatedState());
  KV_RETURN_IF_ERROR(instance->CheckMember(options));
  if (options.force_new_cluster) KV_RETURN_IF_ERROR(instance->ForceNewCluster(options, log));
  KV_RETURN_IF_ERROR(instance->BuildReplica(fs, std::move(log), std::move(options)));
  return instance;
}

Result<Instance::Log> Instance::CreateLog(FileSystem& fs, const InstanceOptions& options) {
  KV_TRY(const std::vector<Member> members,
         ParseInitialCluster(options.initial_cluster, options.initial_cluster_token));
  KV_TRY(const Member* self, FindSelf(members, options));
  if (options.join_existing) return CreateJoiningLog(fs, options, members);
  if (!options.advertise_peer_urls.empty()) {
    KV_RETURN_IF_ERROR(CheckAdvertisedUrls(options.peers, *self, options.advertise_peer_urls));
  }
  if (options.peers != nullptr) {
    KV_RETURN_IF_ERROR(
        CheckNotBootstrapped(*options.peers, members, options.name, options.bootstrap_timeout));
  }
  metadata_ = {.node_id = self->id, .cluster_id = ClusterIdOf(members)};
  Log log;
  KV_TRY(log.writer, wal::Create(fs, options.wal_dir, metadata_, options.wal));
  KV_RETURN_IF_ERROR(WriteBootstrap(members, log));
  KV_INFO("started a new cluster", {"local-member-id", IdText(metadata_.node_id)},
          {"cluster-id", IdText(metadata_.cluster_id)},
          {"initial-cluster", options.initial_cluster});
  return log;
}

Result<Instance::Log> Instance::CreateJoiningLog(FileSystem& fs, const InstanceOptions& options,
                                                 const std::vector<Member>& members) {
  if (options.peers == nullptr) {
    return Fail(Code::kUnavailable,
                "cannot fetch cluster info from peer urls: could not retrieve cluster information "
                "from the given URLs");
  }
  KV_TRY(Joined joined,
         JoinCluster(*options.peers, members, options.name, options.replica.request_timeout));
  metadata_ = {.node_id = joined.self, .cluster_id = joined.cluster_id};
  remotes_ = std::move(joined.members);
  Log log;
  KV_TRY(log.writer, wal::Create(fs, options.wal_dir, metadata_, options.wal));
  KV_INFO("joining a cluster", {"local-member-id", IdText(metadata_.node_id)},
          {"cluster-id", IdText(metadata_.cluster_id)});
  return log;
}

Result<void> Instance::BeginAgain(const InstanceOptions& options, Log& log) {
  KV_TRY(const std::vector<Member> members,
         ParseInitialCluster(options.initial_cluster, options.initial_cluster_token));
  KV_TRY(const Member* self, FindSelf(members, options));
  if (self->id == metadata_.node_id && ClusterIdOf(members) == metadata_.cluster_id)
    return WriteBootstrap(members, log);
  if (options.join_existing) return {};
  return Fail(Code::kFailedPrecondition,
              "the log in " + options.wal_dir +
                  " was begun for another member or cluster; start with the flags of the first "
                  "start, or remove the data directory");
}

Result<void> Instance::WriteBootstrap(const std::vector<Member>& members, Log& log) {
  remotes_ = members;
  std::vector<raft::FirstMember> first;
  for (const Member& member : members)
    first.push_back({.id = member.id, .context = SharedBytes::Own(EncodeMemberJson(member))});
  raft::Bootstrap bootstrap = raft::MakeBootstrap(first);
  KV_RETURN_IF_ERROR(log.writer->Append(bootstrap.entries, &bootstrap.hard_state));
  KV_RETURN_IF_ERROR(log.writer->Sync());
  log.restart.hard_state = bootstrap.hard_state;
  log.restart.entries = std::move(bootstrap.entries);
  return {};
}

Result<Instance::Log> Instance::OpenLog(FileSystem& fs, const InstanceOptions& options) {
  KV_TRY(const std::vector<wal::SnapshotMarker> markers, wal::ListMarkers(fs, options.wal_dir));
  const auto marked = [&](const raft::SnapshotMetadata& metadata) {
    return std::ranges::any_of(markers, [&](const wal::SnapshotMarker& marker) {
      return marker.index == metadata.index && marker.term == metadata.term;
    });
  };
  KV_TRY(const auto snapshot, LoadNewestSnapshotFile(fs, options.snap_dir, marked));
  wal::SnapshotMarker from;
  Log log;
  if (snapshot.has_value()) {
    from = {.index = snapshot->index, .term = snapshot->term, .conf_state = snapshot->conf_state};
    log.snapshot_index = snapshot->index;
    log.restart.applied = snapshot->index;
    log.restart.conf_state = snapshot->conf_state;
  }
  // Entries that the database has are read for followers that lag, so only as much as is kept for
  // them.
  const wal::Needs needs{.size_bytes = options.raft.catch_up_size_bytes,
                         .not_up_to = [&] { return LookUpDurableIndex(fs); }};
  wal::Options wal_options = options.wal;
  wal_options.durable_index = [this, &fs] { return AppliedIndex(fs); };
  KV_TRY(wal::Opened opened, wal::Open(fs, options.wal_dir, from, wal_options, needs));
  KV_RETURN_IF_ERROR(SetNewerSnapshotFilesAside(fs, options.snap_dir,
                                                snapshot.value_or(raft::SnapshotMetadata{})));
  if (opened.torn.has_value()) {
    KV_WARN("cut the remains of an unfinished write off the log", {"file", opened.torn->file},
            {"offset", opened.torn->offset}, {"size", opened.torn->size_bytes},
            {"reason", opened.torn->reason});
  }
  metadata_ = opened.contents.metadata;
  log.writer = std::move(opened.writer);
  log.restart.hard_state = opened.contents.hard_state;
  log.restart.snapshot_index = opened.contents.previous_index;
  log.restart.snapshot_term = opened.contents.previous_term;
  log.restart.entries = std::move(opened.contents.entries);
  if (!snapshot.has_value() && log.restart.hard_state.empty()) {
    KV_RETURN_IF_ERROR(BeginAgain(options, log));
  }
  KV_INFO("restarting a member", {"local-member-id", IdText(metadata_.node_id)},
          {"cluster-id", IdText(metadata_.cluster_id)}, {"snapshot-index", log.snapshot_index},
          {"entries", log.restart.entries.size()}, {"commit-index", log.restart.hard_state.commit});
  return log;
}

// Whatever is wrong with it is found when it is opened to stay.
raft::Index Instance::LookUpDurableIndex(FileSystem& fs) const {
  return AppliedIndex(fs).value_or(0);
}

Result<raft::Index> Instance::AppliedIndex(FileSystem& fs) const {
  KV_TRY(const bool has_database, fs.Exists(DatabasePath()));
  if (!has_database) return 0;
  KV_TRY(const auto backend, open_backend_(DatabasePath()));
  KV_TRY(const mvcc::Reader reader, backend->NewReader());
  KV_TRY(const mvcc::Store::Recovered content, mvcc::Store::ReadRecovered(*reader));
  return content.consistent_index;
}

Result<std::unique_ptr<mvcc::Backend>> Instance::OpenBackend(FileSystem& fs,
                                                             raft::Index snapshot_index) {
  KV_RETURN_IF_ERROR(RemoveReceivedSnapshots(fs, snap_dir_, snapshot_index));
  const std::string received = ReceivedSnapshotPath(snap_dir_, snapshot_index);
  KV_TRY(const bool is_waiting, fs.Exists(received));
  if (!is_waiting) return open_backend_(DatabasePath());
  KV_TRY(const raft::Index applied, AppliedIndex(fs));
  if (applied < snapshot_index) {
    KV_INFO("Recovering from snapshot backend", {"consistent-index", applied},
            {"snapshot-index", snapshot_index}, {"path", received});
    KV_RETURN_IF_ERROR(fs.Rename(received, DatabasePath()));
  } else {
    KV_RETURN_IF_ERROR(fs.Remove(received));
  }
  KV_RETURN_IF_ERROR(fs.SyncDirectory(snap_dir_));
  return open_backend_(DatabasePath());
}

Result<void> Instance::LoadLeases(mvcc::Backend& backend) {
  KV_TRY(const mvcc::Reader reader, backend.NewReader());
  KV_TRY(restored_leases_, Leases::Load(*reader));
  return {};
}

Result<void> Instance::OpenStore(FileSystem& fs, std::unique_ptr<mvcc::Backend> backend,
                                 const InstanceOptions& options) {
  disk_space_ = std::make_shared<DiskSpace>(fs, options.snap_dir);
  mvcc::StoreOptions store_options = options.store;
  leases_ = std::make_unique<Leases>(options.lease, executors_.apply.clock());
  KV_RETURN_IF_ERROR(LoadLeases(*backend));
  store_options.leases = leases_.get();
  store_options.attachments = leases_.get();
  store_options.on_lease_attachment = [this](std::string_view key, std::int64_t lease) {
    restored_leases_.Attach(key, lease);
  };
  store_options.commit.on_fatal = on_fatal_;
  store_options.commit.on_commit = [this](const mvcc::Committer::CommitStats&) {
    disk_space_->Refresh();
  };
  store_options.commit.on_durable = [this](std::uint64_t index) {
    if (replica_ != nullptr) replica_->BackendDurable(index);
  };
  KV_TRY(store_, mvcc::Store::Open(std::move(store_options), std::move(backend),
                                   {.apply = executors_.apply,
                                    .backend = executors_.backend,
                                    .copier = executors_.copier}));
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

// The log is synced before an entry is applied and released after the backend is durable: anything
// else is damage.
Result<void> Instance::CheckTogether(const Log& log) const {
  const std::uint64_t consistent_index = store_->recovered().consistent_index;
  const raft::Restart& restart = log.restart;
  const raft::Index last =
      restart.entries.empty() ? restart.snapshot_index : restart.entries.back().index;
  if (consistent_index < log.snapshot_index) {
    return Fail(Code::kDataLoss,
                "failed to find database snapshot file (snap: snapshot file doesn't exist): the "
                "database is at log index " +
                    std::to_string(consistent_index) + ", older than the log's snapshot at " +
                    std::to_string(log.snapshot_index) +
                    ": it was replaced by an old copy; restore this member from a backup");
  }
  if (consistent_index > last) {
    return Fail(Code::kDataLoss, "the log ends at index " + std::to_string(last) +
                                     ", but the database is at " +
                                     std::to_string(consistent_index) +
                                     ": log files are missing; restore this member from a backup");
  }
  return {};
}

Result<void> Instance::LoadReplicatedState() {
  ReplicatedState state;
  KV_RETURN_IF_ERROR(store_->LookAtDurable([&](mvcc::Snapshot& content) -> Result<void> {
    KV_TRY(state, server::LoadReplicatedState(content));
    return {};
  }));
  alarms_.Reset(std::move(state.alarms));
  membership_ = std::make_unique<Membership>(std::move(state.members), metadata_.node_id);
  auth_ = std::make_unique<auth::AuthStore>(std::move(state.auth));
  auth_states_ = std::make_unique<AuthStates>(auth_->state());
  return {};
}

// Refuses to run for a member that was removed. One that its own state does not know yet asks again
// who the others are: they are not in its data.
Result<void> Instance::CheckMember(const InstanceOptions& options) {
  const auto view = membership_->View();
  if (view->removed.contains(metadata_.node_id)) {
    return Fail(Code::kFailedPrecondition,
                "the member has been permanently removed from the cluster; data-dir used by this "
                "member must be removed");
  }
  if (view->members.contains(metadata_.node_id) || !remotes_.empty() || !options.join_existing ||
      options.peers == nullptr)
    return {};
  KV_TRY(const std::vector<Member> members,
         ParseInitialCluster(options.initial_cluster, options.initial_cluster_token));
  auto cluster =
      FetchCluster(*options.peers, OthersUrls(members, options.name), options.bootstrap_timeout);
  if (!cluster.has_value()) {
    KV_WARN("cannot fetch cluster info from peer urls", {"error", cluster.error().message});
    return {};
  }
  if (cluster->id != metadata_.cluster_id) {
    return Fail(Code::kFailedPrecondition,
                "the data directory is of cluster " + IdText(metadata_.cluster_id) +
                    ", the peers are of cluster " + IdText(cluster->id) +
                    ": cluster ID mismatch; remove the data directory to join theirs");
  }
  remotes_ = std::move(cluster->members);
  return {};
}

Result<void> Instance::ForceNewCluster(const InstanceOptions& options, Log& log) {
  raft::Restart& restart = log.restart;
  const raft::Index applied =
      std::max<raft::Index>(restart.applied, store_->recovered().consistent_index);
  const raft::Index committed = std::max(restart.hard_state.commit, applied);
  const std::size_t found = restart.entries.size();
  std::erase_if(restart.entries, [&](const raft::Entry& entry) { return entry.index > committed; });
  KV_TRY(std::vector<raft::Entry> changes,
         MakeForcedChanges({.applied_view = *membership_->View(),
                            .applied = applied,
                            .entries = restart.entries,
                            .committed = committed,
                            .term = restart.hard_state.term,
                            .self = metadata_.node_id,
                            .own_peer_urls = options.advertise_peer_urls}));
  KV_WARN("forcing a new cluster of this member alone",
          {"local-member-id", IdText(metadata_.node_id)},
          {"cluster-id", IdText(metadata_.cluster_id)}, {"commit-index", committed},
          {"dropped-entries", found - restart.entries.size()}, {"changes", changes.size()});
  if (changes.empty()) return {};
  restart.hard_state.commit = changes.back().index;
  KV_RETURN_IF_ERROR(log.writer->Append(changes, &restart.hard_state));
  KV_RETURN_IF_ERROR(log.writer->Sync());
  forced_index_ = changes.back().index;
  std::ranges::move(changes, std::back_inserter(restart.entries));
  return {};
}

std::shared_ptr<const MembershipView> Instance::PeersView() const {
  auto view = membership_->View();
  const bool is_forced = applier_->applied_index() < forced_index_;
  if (!is_forced && remotes_.empty()) return view;
  MembershipView peers = *view;
  if (is_forced) {
    std::erase_if(peers.members,
                  [&](const auto& entry) { return entry.first != metadata_.node_id; });
  } else {
    for (const Member& member : remotes_) {
      if (!peers.removed.contains(member.id)) peers.members.emplace(member.id, member);
    }
  }
  return std::make_shared<const MembershipView>(std::move(peers));
}

// What the backend holds was committed and is applied, whatever the last hard state on disk says;
// the configuration is in it too. So Raft never hands out an entry again that the backend has, and
// a configuration change that was refused when it was applied stays refused.
Result<void> Instance::StartAtBackend(raft::Restart& restart) const {
  const mvcc::Store::Recovered& recovered = store_->recovered();
  if (recovered.consistent_index <= restart.applied) return {};
  restart.applied = recovered.consistent_index;
  KV_TRY(restart.conf_state, DecodeConfStateJson(recovered.conf_state));
  return {};
}

Result<void> Instance::BuildReplica(FileSystem& fs, Log log, InstanceOptions options) {
  on_removed_ = std::move(options.on_removed);
  options.raft.id = metadata_.node_id;
  options.raft.seed = options.seed;
  const raft::Index snapshot_index = log.snapshot_index;
  KV_RETURN_IF_ERROR(StartAtBackend(log.restart));
  const raft::Index applied = log.restart.applied;
  status_ = std::make_unique<RaftStatus>(applied);
  ids_ = std::make_unique<RequestIdSource>(metadata_.node_id, executors_.raft.clock().WallNanos());
  ids_->GoOnBehind(log.restart.entries);
  KV_TRY(auto node, raft::Node::Create(options.raft, std::move(log.restart)));

  auth_applier_ = std::make_unique<AuthApplier>(*auth_, *auth_states_, *store_, *leases_,
                                                options.simple_tokens);
  applier_ = std::make_unique<Applier>(
      *store_, *membership_, alarms_, *quota_, *leases_, *auth_applier_, waiters_,
      Applier::Hooks{.on_conf_change =
                         [this](raft::Index index, const raft::ConfChange& change) {
                           replica_->ConfChanged(index, change);
                           if (change.type == raft::ConfChangeType::kRemoveNode &&
                               change.node_id == metadata_.node_id && on_removed_)
                             on_removed_();
                           transport_->SetMembers(PeersView());
                         },
                     .on_no_space = [this](Task answer) { RaiseNoSpace(std::move(answer)); },
                     .on_fatal = on_fatal_},
      options.apply);
  options.log.snap_dir = options.snap_dir;
  log_ = std::make_unique<LogWriter>(
      fs, std::move(log.writer), executors_.wal, std::move(options.log),
      LogWriter::Hooks{
          .on_persisted = [this](std::uint64_t number) { replica_->Persisted(number); },
          .on_snapshot_durable =
              [this](std::shared_ptr<const raft::Snapshot> snapshot) {
                apply_loop_->PushSnapshot(std::move(snapshot));
              },
          .on_snapshot_ended = [this](raft::Index index) { replica_->SnapshotEnded(index); },
          .on_fatal = on_fatal_});
  apply_loop_ = std::make_unique<ApplyLoop>(
      *store_, *applier_, executors_.apply, *status_, options.slow_apply,
      [this](raft::Index applied_index) {
        replica_->Applied(applied_index);
        lease_expiry_->OnApplied();
      },
      [this](const std::shared_ptr<const raft::Snapshot>& snapshot, Task done) {
        InstallSnapshot(snapshot, std::move(done));
      });
  replica_ = std::make_unique<Replica>(
      std::move(node),
      Replica::Parts{.log = *log_,
                     .apply = *apply_loop_,
                     .waiters = waiters_,
                     .ids = *ids_,
                     .status = *status_,
                     .raft = executors_.raft},
      snapshot_index, options.replica,
      Replica::Hooks{
          .send_snapshot = [this](raft::Message message) { SendSnapshot(std::move(message)); },
          .snapshot_ignored =
              [this](raft::Index index) {
                executors_.wal.Post([this, index] { intake_->Ignored(index); });
              },
          .leadership_changed = [this] { lease_expiry_->LeadershipChanged(); }});
  options.lease_expiry.election_timeout = options.replica.election_timeout;
  options.lease_expiry.request_timeout = options.replica.request_timeout;
  lease_expiry_ = std::make_unique<LeaseExpiry>(*leases_, *replica_, *applier_, alarms_, *ids_,
                                                executors_.apply, options.lease_expiry);
  space_watch_ = std::make_unique<SpaceWatch>(
      executors_.backend,
      SpaceWatch::Hooks{.has_space =
                            [this] {
                              disk_space_->Refresh();
                              return DiskTakesWrites();
                            },
                        .alarm_stands = [this] { return alarms_.Stands(OwnNoSpace()); },
                        .raise = [this](Task answered) { RaiseNoSpace(std::move(answered)); }});
  intake_ = std::make_unique<SnapshotIntake>(
      fs, snap_dir_, open_backend_,
      [this](raft::Message message) { return replica_->Receive(std::move(message)); });
  return {};
}

void Instance::Start(Transport& transport) {
  transport_ = &transport;
  transport.SetMembers(PeersView());
  replica_->Start(transport);
  lease_expiry_->Start();
  space_watch_->Start();
}

void Instance::Receive(raft::Message message) {
  if (IsSnapshot(message)) return;
  replica_->Receive(std::move(message));
}

void Instance::ReceiveAll(std::vector<raft::Message> messages) {
  std::erase_if(messages, IsSnapshot);
  replica_->ReceiveAll(std::move(messages));
}

void Instance::Unreachable(raft::MemberId peer) { replica_->Unreachable(peer); }

void Instance::SnapshotSent(raft::MemberId peer, bool succeeded) {
  {
    std::lock_guard lock(sending_mutex_);
    sending_.erase(peer);
  }
  replica_->SnapshotSent(peer, succeeded);
}

Result<std::unique_ptr<mvcc::SnapshotSink>> Instance::ReceiveSnapshot(raft::Message message) {
  const bool is_ours = message.type == raft::MessageType::kSnap && message.to == member_id() &&
                       message.snapshot != nullptr && !message.snapshot->empty();
  if (!is_ours) return Fail(Code::kInvalidArgument, "not a snapshot for this member");
  const raft::Index index = message.snapshot->metadata.index;
  if (index <= status_->commit_index()) {
    // Raft drops it and answers how far we are, so that its leader does not send it again.
    replica_->Receive(std::move(message));
    return Fail(Code::kFailedPrecondition, "this member has everything up to the snapshot's index");
  }
  return intake_->Begin(std::move(message));
}

void Instance::SendSnapshot(raft::Message message) {
  const raft::MemberId peer = message.to;
  {
    std::lock_guard lock(sending_mutex_);
    if (sending_.size() >= kMaxSnapshotsOnTheirWay || !sending_.insert(peer).second) {
      replica_->SnapshotSent(peer, false);  // Raft asks again
      return;
    }
  }
  store_->Flush(
      [this, message = std::move(message)]() mutable { SendDurable(std::move(message)); });
}

void Instance::SendDurable(raft::Message message) {
  auto opened = store_->OpenSnapshot();
  Result<raft::SnapshotMetadata> metadata =
      opened.has_value() ? MetadataOf(opened->content, message.snapshot->metadata.index)
                         : Fail(opened.error());
  if (!metadata.has_value()) {
    KV_WARN("cannot send a snapshot", {"to", IdText(message.to)},
            {"error", metadata.error().message});
    SnapshotSent(message.to, false);
    return;
  }
  KV_INFO("sending database snapshot", {"snapshot-index", metadata->index},
          {"snapshot-term", metadata->term}, {"remote-peer-id", IdText(message.to)},
          {"size-in-use-bytes", store_->SizeInUseBytes()});
  message.snapshot = std::make_shared<const raft::Snapshot>(
      raft::Snapshot{.data = {}, .metadata = *std::move(metadata)});
  transport_->SendSnapshot(std::move(message), Bounded(*std::move(opened)));
}

// Refers to nothing of this instance: whoever sends it may outlive us.
std::unique_ptr<mvcc::SnapshotSource> Instance::Bounded(mvcc::Store::DurableSnapshot opened) const {
  return std::make_unique<BoundedSource>(
      std::move(opened.source),
      BoundedSource::Database{
          .file_bytes = std::move(opened.file_bytes),
          .has_space = [space = disk_space_] { return space->TakesBackendBytes(0); },
          .in_use_bytes = store_->SizeInUseBytes()},
      executors_.backend.clock(), BoundedSource::Limits{});
}

Result<raft::SnapshotMetadata> Instance::MetadataOf(const mvcc::Store::Recovered& content,
                                                    raft::Index at_least) const {
  if (content.consistent_index < at_least) {
    return Fail(Code::kUnknown, "the database is at index " +
                                    std::to_string(content.consistent_index) +
                                    ", the follower needs " + std::to_string(at_least));
  }
  KV_TRY(raft::ConfState conf_state, DecodeConfStateJson(content.conf_state));
  return raft::SnapshotMetadata{
      .conf_state = std::move(conf_state), .index = content.consistent_index, .term = content.term};
}

void Instance::InstallSnapshot(const std::shared_ptr<const raft::Snapshot>& snapshot, Task done) {
  const raft::SnapshotMetadata& metadata = snapshot->metadata;
  KV_INFO("installing a snapshot", {"snapshot-index", metadata.index},
          {"snapshot-term", metadata.term}, {"applied-index", applier_->applied_index()});
  KV_FAILPOINT("raftBeforeApplySnap");
  auto loaded = std::make_shared<ReplicatedState>();
  const std::uint64_t auth_version = auth_states_->Reserve();
  store_->Install(
      {.open = [this](const std::string& path) -> Result<std::unique_ptr<mvcc::Backend>> {
         KV_TRY(auto backend, open_backend_(path));
         KV_INFO("applySnapshot: opened snapshot backend", {"path", path});
         KV_RETURN_IF_ERROR(LoadLeases(*backend));
         return backend;
       },
       .snapshot_path = ReceivedSnapshotPath(snap_dir_, metadata.index),
       .path = DatabasePath(),
       .consistent_index = metadata.index,
       .side_version = auth_version,
       .load = [this, loaded, auth_version](mvcc::Snapshot& content) -> Result<void> {
         KV_TRY(*loaded, server::LoadReplicatedState(content));
         auth_applier_->EndTokens(loaded->auth);
         auth_states_->Fill(auth_version, loaded->auth.state());
         return {};
       }},
      [this, snapshot, loaded, done = std::move(done)]() mutable {
        SnapshotInstalled(snapshot->metadata, std::move(*loaded));
        done();
      });
}

void Instance::SnapshotInstalled(const raft::SnapshotMetadata& metadata, ReplicatedState state) {
  KV_FAILPOINT("raftAfterApplySnap");
  alarms_.Reset(std::move(state.alarms));
  membership_->Set(std::move(state.members));
  leases_->Install(std::exchange(restored_leases_, {}));
  auth_applier_->Install(std::move(state.auth));
  applier_->Installed(metadata.index, metadata.term);
  transport_->SetMembers(PeersView());
  if (membership_->View()->removed.contains(metadata_.node_id) && on_removed_) on_removed_();
  replica_->SnapshotInstalled(metadata);
  intake_->Installed();
  KV_INFO("applied snapshot", {"snapshot-index", metadata.index}, {"revision", store_->revision()});
}

bool Instance::DiskTakesWrites() {
  if (log_->SpaceLow()) {
    log_->WatchSpace();
    return false;
  }
  return !store_->CommitStalled() && disk_space_->TakesBackendBytes(store_->PendingBytes());
}

void Instance::RaiseNoSpace(Task answer) {
  const AlarmRequest raise{.action = AlarmAction::kActivate, .alarm = OwnNoSpace()};
  const std::uint64_t id = ids_->Next();
  std::vector<Proposal> proposals;
  proposals.push_back(
      {.id = id,
       .data = EncodeInternalRequest(id, RequestKind::kAlarm, EncodeAlarmRequest(raise)),
       .deadline = replica_->clock().Now() + kAlarmTimeout,
       .waiter = std::make_unique<TaskWaiter>(std::move(answer))});
  replica_->Propose(std::move(proposals));
}

void Instance::Stop(Task done) {
  lease_expiry_->Stop();
  space_watch_->Stop();
  replica_->Stop([this, done = std::move(done)]() mutable {
    log_->Close([this, done = std::move(done)]() mutable { store_->Close(std::move(done)); });
  });
}

}  // namespace kvorum::server
