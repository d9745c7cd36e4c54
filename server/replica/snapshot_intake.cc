#include "server/replica/snapshot_intake.h"

#include <mutex>
#include <utility>

#include "base/logging.h"
#include "datadir/snapshot_files.h"
#include "mvcc/store.h"

namespace kvorum::server {

struct SnapshotIntake::Shared {
  enum class Phase : std::uint8_t { kIdle, kReceiving, kDelivered };
  std::mutex mutex;
  Phase phase = Phase::kIdle;
  raft::Index index = 0;

  // Changes the phase, if the current one is that of this snapshot.
  bool Move(Phase from, Phase to, raft::Index for_index) {
    std::lock_guard lock(mutex);
    if (phase != from || (from != Phase::kIdle && index != for_index)) return false;
    phase = to;
    index = for_index;
    return true;
  }
};

class SnapshotIntake::Sink final : public mvcc::SnapshotSink {
 public:
  using Phase = Shared::Phase;

  Sink(std::shared_ptr<Shared> shared, FileSystem& fs, Deliver deliver, raft::Message message,
       std::string path)
      : shared_(std::move(shared)),
        fs_(fs),
        deliver_(std::move(deliver)),
        message_(std::move(message)),
        index_(message_.snapshot->metadata.index),
        path_(std::move(path)) {}
  ~Sink() override {
    content_.reset();
    shared_->Move(Phase::kReceiving, Phase::kIdle, index_);
  }

  Result<void> Open(mvcc::BackendOpener open) {
    KV_TRY(content_,
           mvcc::MakeSnapshotSink(fs_, {.open = std::move(open),
                                        .path = path_,
                                        .check = [this](mvcc::Snapshot& content) -> Result<void> {
                                          return Check(content);
                                        }}));
    return {};
  }

  Result<void> Write(std::string_view bytes) override { return content_->Write(bytes); }

  Result<void> Finish() override {
    KV_RETURN_IF_ERROR(content_->Finish());
    KV_INFO("received and saved database snapshot", {"snapshot-index", index_}, {"path", path_});
    // First, since Raft may decide within the call.
    shared_->Move(Phase::kReceiving, Phase::kDelivered, index_);
    if (deliver_(std::move(message_))) return {};
    static_cast<void>(fs_.Remove(path_));
    shared_->Move(Phase::kDelivered, Phase::kIdle, index_);
    return Fail(Code::kUnavailable, "too many messages wait for raft");
  }

 private:
  // The content must be what the message says.
  Result<void> Check(mvcc::Snapshot& content) const {
    KV_TRY(const mvcc::Store::Recovered recovered, mvcc::Store::ReadRecovered(content));
    if (recovered.consistent_index == index_.value()) return {};
    return Fail(Code::kDataLoss, "the snapshot's content is of index " +
                                     std::to_string(recovered.consistent_index) +
                                     ", its message of index " + std::to_string(index_.value()));
  }

  const std::shared_ptr<Shared> shared_;
  FileSystem& fs_;
  const Deliver deliver_;
  raft::Message message_;
  const raft::Index index_;
  const std::string path_;
  std::unique_ptr<mvcc::SnapshotSink> content_;
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
  if (!shared_->Move(Shared::Phase::kIdle, Shared::Phase::kReceiving, index))
    return Fail(Code::kUnavailable, "another snapshot is being received");
  auto sink = std::make_unique<Sink>(shared_, fs_, deliver_, std::move(message),
                                     datadir::ReceivedSnapshotPath(snap_dir_, index));
  KV_RETURN_IF_ERROR(sink->Open(open_));
  KV_INFO("receiving a snapshot", {"snapshot-index", index});
  return sink;
}

void SnapshotIntake::Ignored(raft::Index index) {
  {
    std::lock_guard lock(shared_->mutex);
    if (shared_->phase != Shared::Phase::kDelivered || shared_->index != index) return;
  }
  // Nobody else takes it before this is done: the phase does not change.
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
