#include <utility>
#include <vector>

#include "base/check.h"
#include "mvcc/snapshot_content.h"
#include "mvcc/snapshot_decoder.h"
#include "mvcc/snapshot_stream.h"
#include "mvcc/write_batch.h"

namespace kvorum::mvcc {
namespace {

// The size of one commit: large enough that its sync does not matter, small enough for memory.
constexpr std::size_t kCommitBytes = std::size_t{8} << 20;
constexpr std::size_t kCommitRecords = 10'000;

Result<void> RemoveIfThere(FileSystem& files, const std::string& path) {
  KV_TRY(const bool there, files.Exists(path));
  if (!there) return {};
  return files.Remove(path);
}

class BackendSink final : public SnapshotSink {
 public:
  BackendSink(FileSystem& files, SnapshotSinkOptions options)
      : files_(files),
        options_(std::move(options)),
        unfinished_path_(options_.path + ".part"),
        decoder_([this](SharedBytes body, std::vector<SnapshotDecoder::Record> records) {
          return Take(std::move(body), records);
        }) {}
  ~BackendSink() override {
    if (finished_) return;
    backend_.reset();
    static_cast<void>(RemoveUnfinished());  // leftovers are removed at the next start
  }

  Result<void> Open() {
    KV_RETURN_IF_ERROR(RemoveUnfinished());
    KV_TRY(backend_, options_.open(unfinished_path_));
    return {};
  }

  Result<void> Write(std::string_view bytes) override { return decoder_.Feed(bytes); }

  Result<void> Finish() override {
    KV_CHECK(!finished_, "a snapshot is finished once");
    KV_TRY(const snapshot_format::Totals told, decoder_.Finish());
    KV_RETURN_IF_ERROR(CommitTaken());
    {
      KV_TRY(const Reader reader, backend_->NewReader());
      KV_TRY(const snapshot_format::Totals built, ComputeSnapshotTotals(*reader));
      if (built != told) {
        return Fail(Code::kDataLoss,
                    "mvcc: " + unfinished_path_ + " differs from the snapshot it was made of");
      }
      if (options_.check) KV_RETURN_IF_ERROR(options_.check(*reader));
    }
    backend_.reset();
    KV_RETURN_IF_ERROR(RemoveIfThere(files_, LockPath()));
    KV_RETURN_IF_ERROR(files_.Rename(unfinished_path_, options_.path));
    finished_ = true;
    return files_.SyncDirectory(ParentDirectory(options_.path));
  }

 private:
  // LMDB's, which holds nothing once the file is closed.
  std::string LockPath() const { return unfinished_path_ + "-lock"; }

  Result<void> RemoveUnfinished() {
    KV_RETURN_IF_ERROR(RemoveIfThere(files_, LockPath()));
    return RemoveIfThere(files_, unfinished_path_);
  }

  Result<void> Take(SharedBytes body, const std::vector<SnapshotDecoder::Record>& records) {
    for (const SnapshotDecoder::Record& record : records) {
      if (record.bucket == Bucket::kKey) {
        KV_TRY(const RevisionKey::Decoded key, RevisionKey::Decode(record.key));
        revisions_.push_back({key.revision, record.value, key.tombstone});
      } else {
        changes_.Put(record.bucket, record.key, record.value);
      }
    }
    taken_bytes_ += body.size();
    bodies_.push_back(std::move(body));
    if (taken_bytes_ < kCommitBytes && revisions_.size() + changes_.size() < kCommitRecords)
      return {};
    return CommitTaken();
  }

  Result<void> CommitTaken() {
    WriteBatch batch;
    if (!revisions_.empty()) batch.appends.emplace_back(revisions_);
    batch.changes = std::exchange(changes_, {});
    if (batch.empty()) return {};
    KV_RETURN_IF_ERROR(backend_->Commit(batch));
    revisions_.clear();
    bodies_.clear();
    taken_bytes_ = 0;
    return {};
  }

  FileSystem& files_;
  const SnapshotSinkOptions options_;
  const std::string unfinished_path_;
  std::unique_ptr<Backend> backend_;
  SnapshotDecoder decoder_;
  // The content of the next commit.
  std::vector<SharedBytes> bodies_;  // the records' memory
  std::vector<RevisionRecord> revisions_;
  BucketChanges changes_;
  std::size_t taken_bytes_ = 0;
  bool finished_ = false;
};

}  // namespace

Result<std::unique_ptr<SnapshotSink>> MakeSnapshotSink(FileSystem& files,
                                                       SnapshotSinkOptions options) {
  auto sink = std::make_unique<BackendSink>(files, std::move(options));
  KV_RETURN_IF_ERROR(sink->Open());
  return sink;
}

}  // namespace kvorum::mvcc
