#include "server/replica/member/local_member.h"

#include <set>
#include <utility>

#include "api/entries/internal_request.h"
#include "api/member_id.h"
#include "base/api_errors.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "base/majority.h"
#include "base/text/human_bytes.h"
#include "mvcc/index/index_file.h"
#include "raft/node.h"
#include "server/apply/applier.h"
#include "server/apply/apply_loop.h"
#include "server/apply/wait_table.h"
#include "server/replica/drive/log_writer.h"
#include "server/replica/drive/replica.h"
#include "server/replica/drive/request_id.h"
#include "server/replica/drive/stored_entries.h"
#include "server/replica/recovery/backend_recovery.h"
#include "server/replica/recovery/incarnations.h"
#include "server/replica/recovery/known_peers.h"
#include "server/replica/recovery/local_member_options.h"
#include "server/replica/recovery/log_recovery.h"
#include "server/replica/snapshots/database_sender.h"
#include "server/replica/snapshots/snapshot_intake.h"
#include "server/replica/upkeep/disk_space.h"
#include "server/replica/upkeep/housekeeping.h"
#include "server/replica/upkeep/lease_expiry.h"
#include "server/replica/upkeep/start_defragment.h"
#include "server/state/raft_status.h"

namespace kvorum::server {
namespace {

// A kSnap among the other messages lacks its content.
bool IsSnapshot(const raft::Message& message) { return message.type == raft::MessageType::kSnap; }

bool AreMajorityOfVoters(const MembershipView& view, const std::set<raft::MemberId>& peers) {
  std::size_t voters = 0;
  std::size_t among_them = 0;
  for (const auto& [id, member] : view.members) {
    if (member.is_learner) continue;
    ++voters;
    among_them += peers.contains(id) ? 1 : 0;
  }
  return among_them >= Majority(voters);
}

}  // namespace

LocalMember::LocalMember(mvcc::BackendOpener open_backend, LocalMemberExecutors executors,
                         FatalHandler on_fatal)
    : open_backend_(std::move(open_backend)),
      executors_(executors),
      on_fatal_(std::move(on_fatal)),
      waiters_(std::make_unique<WaitTable>()) {}

LocalMember::~LocalMember() = default;

Result<std::unique_ptr<LocalMember>> LocalMember::Open(FileSystem& fs,
                                                       mvcc::BackendOpener open_backend,
                                                       LocalMemberExecutors executors,
                                                       LocalMemberOptions options,
                                                       FatalHandler on_fatal) {
  std::unique_ptr<LocalMember> local_member(
      new LocalMember(std::move(open_backend), executors, std::move(on_fatal)));
  KV_TRY(RecoveredLog log, RecoverLog(fs, local_member->open_backend_, options));
  local_member->cluster_id_ = log.metadata.cluster_id;
  local_member->member_id_ = log.metadata.node_id;
  KV_RETURN_IF_ERROR(local_member->OpenState(fs, log, options));
  local_member->peers_ =
      std::make_unique<KnownPeers>(log.metadata.node_id, std::exchange(log.remotes, {}));
  KV_TRY(local_member->incarnations_,
         Incarnations::Open(fs, ParentDirectory(options.snap_dir) + "/incarnation",
                            Rng(options.seed), executors.wal));
  log.restart.lost_data = local_member->incarnations_->lost_data();
  const auto members = local_member->membership().View();
  KV_RETURN_IF_ERROR(local_member->peers_->Check(*members, log.metadata.cluster_id, options));
  if (options.force_new_cluster) {
    const raft::Index applied{local_member->store().recovered().consistent_index};
    KV_TRY(const raft::Index last,
           ForceNewCluster(log, *members, applied, options.advertise_peer_urls,
                           [&](raft::Index left) -> Result<void> {
                             if (!options.on_departure) return {};
                             return options.on_departure(left, local_member->store().revision());
                           }));
    local_member->peers_->ForceAlone(last);
    log.restart.lost_data = 0;  // no other member has more
  }
  KV_RETURN_IF_ERROR(local_member->BuildReplica(fs, std::move(log), std::move(options)));
  return local_member;
}

Result<void> LocalMember::OpenState(FileSystem& fs, const RecoveredLog& log,
                                    const LocalMemberOptions& options) {
  KV_TRY(auto backend, OpenMemberBackend(fs, open_backend_, options.snap_dir, options.database_note,
                                         log.snapshot_index));
  KV_RETURN_IF_ERROR(DefragmentAtStart(*backend, options.start_defragment_bytes, [&] {
    return mvcc::RemoveIndexFile(fs, DatabasePath(options.snap_dir));
  }));
  KV_TRY(
      state_,
      MemberState::Open(
          fs, std::move(backend),
          {.apply = executors_.apply, .backend = executors_.backend, .copier = executors_.copier},
          options, {.on_fatal = on_fatal_, .on_durable = [this](raft::Index index) {
                      if (replica_ != nullptr) replica_->BackendDurable(index);
                    }}));
  KV_RETURN_IF_ERROR(CheckFitsBackend(log, raft::Index{store().recovered().consistent_index}));
  return state_->Load(log.metadata.node_id, options.simple_tokens);
}

Result<void> LocalMember::BuildReplica(FileSystem& fs, RecoveredLog log,
                                       LocalMemberOptions options) {
  on_removed_ = std::move(options.on_removed);
  options.raft.id = member_id_;
  options.raft.seed = options.seed;
  KV_RETURN_IF_ERROR(StartAtBackend(log.restart, store().recovered()));
  const raft::Index log_end =
      log.restart.entries.empty() ? log.restart.applied : log.restart.entries.back().index;
  status_ = std::make_unique<RaftStatus>(log.restart.applied, log.restart.lost_data, log_end);
  incarnations_->SetLostData(log.restart.lost_data);
  ids_ = std::make_unique<RequestIdSource>(member_id_, executors_.raft.clock().WallNanos());
  ids_->GoOnBehind(log.restart.entries);
  KV_TRY(auto node, raft::Node::Create(options.raft, std::move(log.restart)));

  BuildApplier(options);
  BuildLogWriter(fs, log, options);
  BuildStored(fs, options.wal_dir);
  apply_loop_ = std::make_unique<ApplyLoop>(
      store(), *applier_, executors_.apply, *status_, options.slow_apply, TellApplied(options),
      [this](const std::shared_ptr<const raft::Snapshot>& snapshot, Task done) {
        InstallSnapshot(snapshot, std::move(done));
      });
  replica_ = std::make_unique<Replica>(
      std::move(node),
      Replica::Parts{.log = *log_,
                     .apply = *apply_loop_,
                     .waiters = *waiters_,
                     .ids = *ids_,
                     .status = *status_,
                     .raft = executors_.raft},
      log.snapshot_index, options.replica,
      Replica::Hooks{
          .send_snapshot = [this](raft::Message message) { sender_->Send(std::move(message)); },
          .snapshot_ignored =
              [this](raft::Index index) {
                executors_.wal.Post([this, index] { intake_->Ignored(index); });
              },
          .leadership_changed = [this] { lease_expiry_->LeadershipChanged(); },
          .watch_lag = options.watch_lag,
          .fetch = [this](raft::Fetch fetch) { stored_->Fetch(std::move(fetch)); },
          .lost_data_changed = [this](raft::Index index) { incarnations_->SetLostData(index); },
          .release_bound = BoundRelease(options)});
  incarnations_->SetHooks(
      {.on_own_loss = [this](raft::MemberId) { replica_->LoseData(); },
       .on_peers_loss = [this](raft::MemberId peer) { replica_->FollowerLostData(peer); },
       .are_majority =
           [this](const std::set<raft::MemberId>& peers) {
             return AreMajorityOfVoters(*membership().View(), peers);
           }});
  options.lease_expiry.election_timeout = options.replica.election_timeout;
  options.lease_expiry.request_timeout = options.replica.request_timeout;
  lease_expiry_ = std::make_unique<LeaseExpiry>(
      leases(), *status_, alarms(), *ids_, executors_.apply, options.lease_expiry,
      LeaseExpiry::Hooks{
          .propose =
              [this](std::vector<Proposal> proposals) { replica_->Propose(std::move(proposals)); },
          .confirm = [this](ReadTask task) { replica_->ReadIndex(std::move(task)); },
          .applied_term = [this] { return applier_->applied_term(); }});
  BuildHousekeeping(options);
  BuildSnapshots(fs, options);
  return {};
}

std::function<void(raft::Index applied)> LocalMember::TellApplied(LocalMemberOptions& options) {
  const auto tell = [this](raft::Index applied) {
    replica_->Applied(applied);
    lease_expiry_->OnApplied();
  };
  if (!options.on_applied) return tell;
  return [this, tell, on_applied = std::move(options.on_applied)](raft::Index applied) {
    on_applied(applied, store().revision());
    tell(applied);
  };
}

std::function<raft::Index(raft::Index index)> LocalMember::BoundRelease(
    LocalMemberOptions& options) {
  if (!options.release_bound) return nullptr;
  return [this, bound = std::move(options.release_bound)](raft::Index index) {
    return log_->SpaceLow() ? index : bound(index, log_->written_bytes());
  };
}

void LocalMember::BuildApplier(const LocalMemberOptions& options) {
  applier_ = std::make_unique<Applier>(
      store(), membership(), alarms(), quota(), leases(), state_->auth_applier(), *waiters_,
      Applier::Hooks{
          .on_conf_change = [this](raft::Index index,
                                   const raft::ConfChange& change) { ConfChanged(index, change); },
          .on_no_space =
              [this, limit = options.quota_bytes](Task answer) {
                KV_WARN("message exceeded backend quota; raising alarm",
                        {"quota-size-bytes", limit}, {"quota-size", HumanBytes(limit)},
                        {"error", kErrNoSpace.message});
                housekeeping_->RaiseNoSpace(std::move(answer));
              },
          .on_fatal = on_fatal_},
      options.apply);
}

void LocalMember::BuildLogWriter(FileSystem& fs, RecoveredLog& log,
                                 const LocalMemberOptions& options) {
  LogWriter::Options log_options = options.log;
  log_options.snap_dir = options.snap_dir;
  log_options.stages = &status_->stages();
  log_options.snapshot_index = log.snapshot_index;
  log_ = std::make_unique<LogWriter>(
      fs, std::move(log.writer), executors_.wal, std::move(log_options),
      LogWriter::Hooks{
          .on_persisted = [this](std::uint64_t number) { replica_->Persisted(number); },
          .on_snapshot_durable =
              [this](std::shared_ptr<const raft::Snapshot> snapshot) {
                apply_loop_->PushSnapshot(std::move(snapshot));
              },
          .on_snapshot_ended = [this](raft::Index index) { replica_->SnapshotEnded(index); },
          .on_fatal = on_fatal_});
}

void LocalMember::BuildStored(FileSystem& fs, const std::string& wal_dir) {
  stored_ = std::make_unique<StoredEntries>(
      fs, wal_dir, executors_.copier,
      [this](raft::MemberId peer, raft::Index from, std::vector<raft::Entry> entries) {
        replica_->Fetched(peer, from, std::move(entries));
      });
}

void LocalMember::BuildHousekeeping(LocalMemberOptions& options) {
  options.housekeeping.request_timeout = options.replica.request_timeout;
  housekeeping_ = std::make_unique<Housekeeping>(
      Housekeeping::Parts{.executor = executors_.backend,
                          .store = store(),
                          .alarms = alarms(),
                          .membership = membership(),
                          .quota = quota(),
                          .status = *status_,
                          .replica = *replica_,
                          .ids = *ids_,
                          .self = member_id_},
      options.housekeeping,
      Housekeeping::Disks{
          .have_space =
              [this] {
                state_->disk_space()->Refresh();
                return DiskTakesWrites();
              },
          .have_room_to_spare =
              [this] { return state_->disk_space()->HasRoomToSpare(store().PendingBytes()); }});
}

// Builds the exchange of snapshots with other members.
void LocalMember::BuildSnapshots(FileSystem& fs, const LocalMemberOptions& options) {
  intake_ = std::make_unique<SnapshotIntake>(
      fs, options.snap_dir, open_backend_,
      [this](raft::Message message) { return replica_->Receive(std::move(message)); });
  sender_ = std::make_unique<DatabaseSender>(
      store(), state_->disk_space(), executors_.backend.clock(), options.snapshot_bytes_per_second,
      [this](raft::MemberId peer, bool succeeded) { replica_->SnapshotSent(peer, succeeded); });
}

void LocalMember::TellTransport() {
  transport_->SetMembers(peers_->View(membership().View(), applier_->applied_index()));
}

void LocalMember::ConfChanged(raft::Index index, const raft::ConfChange& change) {
  replica_->ConfChanged(index, change);
  const bool is_removal =
      change.type == raft::ConfChangeType::kRemoveNode && change.node_id == member_id_;
  if (is_removal && on_removed_) on_removed_();
  TellTransport();
}

void LocalMember::RefuseAuthWhileJoining(std::string text) {
  applier_->RefuseAuthWhileJoining(member_id_, std::move(text));
}

void LocalMember::Start(Transport& transport) {
  transport_ = &transport;
  sender_->Start(transport);
  TellTransport();
  replica_->Start(transport);
  lease_expiry_->Start();
  housekeeping_->Start();
}

IncarnationGuard& LocalMember::incarnations() { return *incarnations_; }

const ApplyTimes& LocalMember::apply_times() const { return applier_->times(); }

void LocalMember::Receive(raft::Message message) {
  if (IsSnapshot(message)) return;
  replica_->Receive(std::move(message));
}

void LocalMember::ReceiveAll(std::vector<raft::Message> messages) {
  std::erase_if(messages, IsSnapshot);
  replica_->ReceiveAll(std::move(messages));
}

void LocalMember::Unreachable(raft::MemberId peer) { replica_->Unreachable(peer); }

void LocalMember::SnapshotSent(raft::MemberId peer, bool succeeded) {
  sender_->Ended(peer, succeeded);
}

Result<std::unique_ptr<mvcc::SnapshotSink>> LocalMember::ReceiveSnapshot(raft::Message message) {
  const bool is_ours = message.type == raft::MessageType::kSnap && message.to == member_id() &&
                       message.snapshot != nullptr && !message.snapshot->empty();
  if (!is_ours) return Fail(Code::kInvalidArgument, "not a snapshot for this member");
  const raft::Index index = message.snapshot->metadata.index;
  if (index <= status_->commit_index()) {
    // Raft drops it and answers with our index, so that the leader does not send it again.
    replica_->Receive(std::move(message));
    return Fail(Code::kFailedPrecondition, "this member has everything up to the snapshot's index");
  }
  return intake_->Begin(std::move(message));
}

void LocalMember::InstallSnapshot(const std::shared_ptr<const raft::Snapshot>& snapshot,
                                  Task done) {
  const raft::SnapshotMetadata& metadata = snapshot->metadata;
  KV_INFO("installing a snapshot", {"snapshot-index", metadata.index},
          {"snapshot-term", metadata.term}, {"applied-index", applier_->applied_index()});
  KV_FAILPOINT("raftBeforeApplySnap");
  state_->Install(metadata, open_backend_, [this, snapshot, done = std::move(done)]() mutable {
    SnapshotInstalled(snapshot->metadata);
    done();
  });
}

void LocalMember::SnapshotInstalled(const raft::SnapshotMetadata& metadata) {
  applier_->Installed(metadata.index, metadata.term);
  TellTransport();
  if (membership().View()->removed.contains(member_id_) && on_removed_) on_removed_();
  replica_->SnapshotInstalled(metadata);
  intake_->Installed();
  KV_FAILPOINT("raftAfterWALRelease");
  KV_INFO("applied snapshot", {"snapshot-index", metadata.index}, {"revision", store().revision()});
}

bool LocalMember::DiskTakesWrites() {
  if (log_->SpaceLow()) {
    log_->WatchSpace();
    return false;
  }
  return !store().CommitStalled() &&
         state_->disk_space()->TakesBackendBytes(store().PendingBytes());
}

void LocalMember::Stop(Task done) {
  lease_expiry_->Stop();
  housekeeping_->Stop();
  replica_->Stop([this, done = std::move(done)]() mutable {
    log_->Close([this, done = std::move(done)]() mutable { store().Close(std::move(done)); });
  });
}

void LocalMember::CheckInvariants() const {
  replica_->CheckInvariants();
  apply_loop_->CheckInvariants();
  state_->leases().CheckInvariants();
  state_->store().CheckInvariants();
}

}  // namespace kvorum::server
