#include "server/replica/snapshots/snapshot_intake.h"

#include <mutex>
#include <string_view>
#include <utility>

#include "api/entries/conf_state_json.h"
#include "api/storage_version.h"
#include "api/version.h"
#include "base/log/logging.h"
#include "datadir/snapshot_files.h"
#include "mvcc/records/snapshot_format.h"
#include "mvcc/store/store.h"
#include "mvcc/transfer/etcd_sink.h"
#include "server/state/leases.h"
#include "server/state/replicated_state.h"

namespace kvorum::server {

struct SnapshotIntake::Shared {
  enum class Phase : std::uint8_t { kIdle, kReceiving, kDelivered };
  std::mutex mutex;
  Phase phase = Phase::kIdle;
  raft::Index index = 0;
  raft::Term term = 0;            // of the message, from its reception on
  bool has_newer_leader = false;  // one of a later term has offered another meanwhile

  // Begins a reception, if there is no snapshot.
  bool Begin(const raft::Message& message) {
    std::lock_guard lock(mutex);
    if (phase == Phase::kReceiving && message.term > term) has_newer_leader = true;
    if (phase != Phase::kIdle) return false;
    phase = Phase::kReceiving;
    index = message.snapshot->metadata.index;
    term = message.term;
    has_newer_leader = false;
    return true;
  }
  // True if the reception is in vain: Raft ignores what a former leader sent.
  bool IsOfFormerLeader() {
    std::lock_guard lock(mutex);
    return has_newer_leader;
  }

  // Changes the phase, if the current one is that of this snapshot.
  bool Move(Phase from, Phase to, raft::Index for_index) {
    std::lock_guard lock(mutex);
    if (phase != from || index != for_index) return false;
    phase = to;
    return true;
  }
};

class SnapshotIntake::Sink final : public mvcc::SnapshotSink {
 public:
  using Phase = Shared::Phase;

  Sink(std::shared_ptr<Shared> shared, FileSystem& fs, mvcc::BackendOpener open, Deliver deliver,
       raft::Message message, std::string path)
      : shared_(std::move(shared)),
        fs_(fs),
        open_(std::move(open)),
        deliver_(std::move(deliver)),
        message_(std::move(message)),
        index_(message_.snapshot->metadata.index),
        path_(std::move(path)) {}
  ~Sink() override {
    content_.reset();
    shared_->Move(Phase::kReceiving, Phase::kIdle, index_);
  }

  Result<void> Write(std::string_view bytes) override {
    if (shared_->IsOfFormerLeader())
      return Fail(Code::kUnavailable, "another member leads and sends a snapshot");
    if (content_ != nullptr) return content_->Write(bytes);
    // The content itself says which format it has.
    first_bytes_.append(bytes);
    if (first_bytes_.size() < kMagic.size()) return {};
    KV_RETURN_IF_ERROR(Open());
    return content_->Write(std::exchange(first_bytes_, {}));
  }

  Result<bool> FinishPart() override {
    if (content_ == nullptr) return Fail(Code::kDataLoss, "the snapshot has no content");
    KV_TRY(const bool is_saved, content_->FinishPart());
    if (!is_saved) return false;
    KV_INFO("received and saved database snapshot", {"snapshot-index", index_}, {"path", path_});
    // First, since Raft may decide within the call.
    shared_->Move(Phase::kReceiving, Phase::kDelivered, index_);
    if (deliver_(std::move(message_))) return true;
    static_cast<void>(fs_.Remove(path_));
    shared_->Move(Phase::kDelivered, Phase::kIdle, index_);
    return Fail(Code::kUnavailable, "too many messages wait for raft");
  }

 private:
  static constexpr std::string_view kMagic = mvcc::snapshot_format::kMagic;

  Result<void> Open() {
    mvcc::SnapshotSinkOptions options{
        .open = open_,
        .path = path_,
        .check = [this](mvcc::Snapshot& content) -> Result<void> { return Check(content); },
        .checks_records = true};
    if (first_bytes_.starts_with(kMagic)) {
      KV_TRY(content_, mvcc::MakeSnapshotSink(fs_, std::move(options)));
      return {};
    }
    const raft::SnapshotMetadata& metadata = message_.snapshot->metadata;
    KV_TRY(content_, mvcc::MakeEtcdSink(
                         fs_, {.sink = std::move(options),
                               .meta = {.consistent_index = metadata.index.value(),
                                        .term = metadata.term.value(),
                                        .conf_state = EncodeConfStateJson(metadata.conf_state),
                                        .storage_version = std::string(kStorageVersion)},
                               .check_meta = [this](const mvcc::EtcdMeta& meta) -> Result<void> {
                                 return CheckEtcds(meta);
                               }}));
    return {};
  }

  // The place in the log that etcd's file states may lag behind the message's: entries that change
  // nothing in it need not be noted there.
  Result<void> CheckEtcds(const mvcc::EtcdMeta& meta) const {
    if (!IsReadableStorage(meta.storage_version)) {
      return Fail(Code::kFailedPrecondition, "the snapshot has storage version " +
                                                 meta.storage_version + "; this program reads " +
                                                 std::string(kStorageVersion));
    }
    if (meta.consistent_index > index_.value()) return WrongIndex(meta.consistent_index);
    KV_INFO("converting a snapshot of etcd's format", {"snapshot-index", index_},
            {"consistent-index", meta.consistent_index});
    return {};
  }

  // The content must be what the message says, and what this member can start from.
  Result<void> Check(mvcc::Snapshot& content) const {
    KV_TRY(const mvcc::Store::Recovered recovered, mvcc::Store::ReadRecovered(content));
    if (recovered.consistent_index != index_.value()) return WrongIndex(recovered.consistent_index);
    KV_RETURN_IF_ERROR(LoadReplicatedState(content));
    KV_RETURN_IF_ERROR(Leases::Load(content));
    return {};
  }
  std::unexpected<Error> WrongIndex(std::uint64_t index) const {
    return Fail(Code::kDataLoss, "the snapshot's content is of index " + std::to_string(index) +
                                     ", its message of index " + std::to_string(index_.value()));
  }

  const std::shared_ptr<Shared> shared_;
  FileSystem& fs_;
  const mvcc::BackendOpener open_;
  const Deliver deliver_;
  raft::Message message_;
  const raft::Index index_;
  const std::string path_;
  std::string first_bytes_;                      // until they tell the format
  std::unique_ptr<mvcc::SnapshotSink> content_;  // then
};

SnapshotIntake::SnapshotIntake(FileSystem& fs, std::string snap_dir, mvcc::BackendOpener open,
                               Deliver deliver)
    : fs_(fs),
      snap_dir_(std::move(snap_dir)),
      open_(std::move(open)),
      deliver_(std::move(deliver)),
      shared_(std::make_shared<Shared>()) {}

Result<std::unique_ptr<mvcc::SnapshotSink>> SnapshotIntake::Begin(raft::Message message) {
  const raft::Index index = message.snapshot->metadata.index;
  if (!shared_->Begin(message))
    return Fail(Code::kUnavailable, "another snapshot is being received");
  auto sink = std::make_unique<Sink>(shared_, fs_, open_, deliver_, std::move(message),
                                     datadir::ReceivedSnapshotPath(snap_dir_, index));
  KV_INFO("receiving a snapshot", {"snapshot-index", index});
  return sink;
}

void SnapshotIntake::Ignored(raft::Index index) {
  {
    std::lock_guard lock(shared_->mutex);
    if (shared_->phase != Shared::Phase::kDelivered || shared_->index != index) return;
  }
  // No other thread takes it before this is done: the phase does not change.
  const std::string path = datadir::ReceivedSnapshotPath(snap_dir_, index);
  if (const auto removed = fs_.Remove(path); !removed.has_value()) {
    KV_WARN("could not remove a snapshot that is not needed", {"path", path},
            {"error", removed.error().message});
  }
  shared_->Move(Shared::Phase::kDelivered, Shared::Phase::kIdle, index);
}

void SnapshotIntake::Installed() {
  std::lock_guard lock(shared_->mutex);
  shared_->phase = Shared::Phase::kIdle;
}

}  // namespace kvorum::server
