#include <optional>
#include <utility>
#include <vector>

#include "mvcc/lmdb/write_batch.h"
#include "mvcc/transfer/record_check.h"
#include "mvcc/transfer/snapshot_decoder.h"
#include "mvcc/transfer/snapshot_stream.h"
#include "mvcc/transfer/unfinished_backend.h"

namespace kvorum::mvcc {
namespace {

class BackendSink final : public SnapshotSink {
 public:
  BackendSink(FileSystem& files, SnapshotSinkOptions options)
      : options_(std::move(options)),
        unfinished_(files, options_),
        decoder_([this](SharedBytes body, std::vector<SnapshotDecoder::Record> records) {
          return Take(std::move(body), records);
        }) {}

  Result<void> Open() { return unfinished_.Open(); }

  Result<void> Write(std::string_view bytes) override { return decoder_.Feed(bytes); }

  Result<bool> FinishPart() override {
    if (told_.has_value()) return unfinished_.FinishPart(*told_);
    KV_TRY(told_, decoder_.Finish());
    KV_RETURN_IF_ERROR(CommitTaken());
    return false;
  }

 private:
  Result<void> Take(SharedBytes body, const std::vector<SnapshotDecoder::Record>& records) {
    for (const SnapshotDecoder::Record& record : records) {
      if (record.bucket == Bucket::kKey) {
        KV_TRY(const RevisionKey::Decoded key, options_.checks_records
                                                   ? revision_check_.Next(record.key, record.value)
                                                   : RevisionKey::Decode(record.key));
        revisions_.push_back({key.revision, record.value, key.tombstone});
      } else {
        if (record.bucket == Bucket::kMeta && options_.checks_records)
          KV_RETURN_IF_ERROR(CheckMetaRecord(record.key, record.value));
        changes_.Put(record.bucket, record.key, record.value);
      }
    }
    taken_bytes_ += body.size();
    bodies_.push_back(std::move(body));
    if (taken_bytes_ < kBulkCommitBytes && revisions_.size() + changes_.size() < kBulkCommitRecords)
      return {};
    return CommitTaken();
  }

  Result<void> CommitTaken() {
    WriteBatch batch;
    if (!revisions_.empty()) batch.appends.emplace_back(revisions_);
    batch.changes = std::exchange(changes_, {});
    if (batch.empty()) return {};
    KV_RETURN_IF_ERROR(unfinished_.backend().Commit(batch));
    revisions_.clear();
    bodies_.clear();
    taken_bytes_ = 0;
    return {};
  }

  const SnapshotSinkOptions options_;
  UnfinishedBackend unfinished_;
  SnapshotDecoder decoder_;
  RevisionCheck revision_check_;
  std::optional<snapshot_format::Totals> told_;  // by the stream's end
  // The content of the next commit.
  std::vector<SharedBytes> bodies_;  // the records' memory
  std::vector<RevisionRecord> revisions_;
  BucketChanges changes_;
  std::size_t taken_bytes_ = 0;
};

}  // namespace

Result<void> SnapshotSink::Finish() {
  while (true) {
    KV_TRY(const bool done, FinishPart());
    if (done) return {};
  }
}

Result<std::unique_ptr<SnapshotSink>> MakeSnapshotSink(FileSystem& files,
                                                       SnapshotSinkOptions options) {
  auto sink = std::make_unique<BackendSink>(files, std::move(options));
  KV_RETURN_IF_ERROR(sink->Open());
  return sink;
}

}  // namespace kvorum::mvcc
