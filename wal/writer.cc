#include "wal/writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint/failpoint.h"
#include "wal/format.h"

namespace kvorum::wal {

Writer::Writer(FileSystem& fs, std::string dir, Metadata metadata, const Options& options,
               std::unique_ptr<FileLock> lock, std::unique_ptr<File> tail,
               std::uint64_t capacity_bytes, Position position)
    : fs_(fs),
      dir_(std::move(dir)),
      metadata_(metadata),
      options_(options),
      lock_(std::move(lock)),
      tail_(std::move(tail)),
      capacity_bytes_(capacity_bytes),
      position_(std::move(position)),
      synced_offset_(position_.offset),
      spares_(std::make_shared<SpareSegments>(
          fs, dir_,
          SpareSegments::Options{.segment_size_bytes = options.segment_size_bytes,
                                 .reserve_size_bytes = options.reserve_size_bytes,
                                 .zero = options.zero_segments,
                                 .background = options.background})) {
  spares_->MakeReserve();
}

Writer::~Writer() { spares_->Stop(); }

Result<void> Writer::Append(std::span<const raft::Entry> entries, const raft::HardState* state) {
  if (poison_.has_value()) return Fail(*poison_);
  if (entries.empty() && state == nullptr) return {};
  std::size_t bound = kMaxSealFrameBytes;
  raft::Index next = entries.empty() ? 0 : entries.front().index;
  KV_CHECK(next <= position_.last_index + 1, "entries that leave a gap in the log");
  for (const raft::Entry& entry : entries) {
    KV_CHECK(entry.index != 0 && entry.index == next++, "entries that are not in order");
    bound += Batch::Bound(entry);
  }
  if (state != nullptr) bound += Batch::Bound(raft::EncodedSize(*state));

  KV_RETURN_IF_ERROR(MakeRoom(bound));
  batch_.Begin(position_.checksums, bound);
  for (const raft::Entry& entry : entries) batch_.AddEntry(entry);
  if (state != nullptr) batch_.AddRecord(RecordType::kState, raft::Encode(*state));
  KV_RETURN_IF_ERROR(WriteBatch());
  if (!entries.empty()) position_.last_index = entries.back().index;
  if (state != nullptr) position_.hard_state = *state;
  return {};
}

Result<void> Writer::Sync() {
  if (poison_.has_value()) return Fail(*poison_);
  if (synced_offset_ == position_.offset) return {};
  KV_FAILPOINT("walBeforeSync");
  KV_FAILPOINT_RETURN("walSyncError", text) { return Poison(Fail(Code::kDataLoss, text)); }
  KV_RETURN_IF_ERROR(Poison(Timed([this] { return tail_->Sync(); })));
  KV_FAILPOINT("walAfterSync");
  synced_offset_ = position_.offset;
  return {};
}

Result<void> Writer::SaveSnapshot(const SnapshotMarker& marker) {
  KV_RETURN_IF_ERROR(WriteMarker(marker, nullptr));
  return Sync();
}

Result<void> Writer::SaveReceivedSnapshot(const SnapshotMarker& marker,
                                          const raft::HardState& state) {
  KV_CHECK(state.commit >= marker.index, "a received snapshot that is not committed");
  KV_RETURN_IF_ERROR(WriteMarker(marker, &state));
  position_.last_index = marker.index;
  position_.hard_state = state;
  return Sync();
}

Result<void> Writer::WriteMarker(const SnapshotMarker& marker, const raft::HardState* state) {
  if (poison_.has_value()) return Fail(*poison_);
  KV_CHECK(marker.index == 0 || marker.conf_state.has_value(),
           "a snapshot marker without a configuration");
  const std::string data = Encode(marker);
  std::size_t bound = Batch::Bound(data.size()) + kMaxSealFrameBytes;
  if (state != nullptr) bound += Batch::Bound(raft::EncodedSize(*state));
  KV_RETURN_IF_ERROR(MakeRoom(bound));
  batch_.Begin(position_.checksums, bound);
  batch_.AddRecord(RecordType::kSnapshot, data);
  if (state != nullptr) batch_.AddRecord(RecordType::kState, raft::Encode(*state));
  return WriteBatch();
}

Result<void> Writer::Cut() {
  if (poison_.has_value()) return Fail(*poison_);
  return CutFor(0);
}

Result<void> Writer::Close() {
  KV_RETURN_IF_ERROR(Sync());
  // Without room for the seal the log is merely as after a crash: a new segment is not worth it.
  if (!position_.sealed && position_.offset + kMaxSealFrameBytes <= capacity_bytes_) {
    batch_.Begin(position_.checksums, kMaxSealFrameBytes);
    KV_RETURN_IF_ERROR(WriteBatch());
    KV_RETURN_IF_ERROR(Sync());
  }
  spares_->Stop();
  poison_ = Error{Code::kFailedPrecondition, "the WAL in " + dir_ + " was closed"};
  return {};
}

// Seals the batch and writes it.
Result<void> Writer::WriteBatch() {
  batch_.AddSeal({.sequence = position_.segments.back().sequence,
                  .offset = position_.offset,
                  .synced_offset = synced_offset_,
                  .file_size_bytes = capacity_bytes_});
  const bool seal_only = batch_.size_bytes() <= kMaxSealFrameBytes;
  KV_FAILPOINT("walBeforeWrite");
  KV_RETURN_IF_ERROR(Poison(tail_->WriteAt(position_.offset, batch_.Parts())));
  KV_FAILPOINT("walAfterWrite");
  position_.sealed = seal_only && synced_offset_ == position_.offset;
  position_.offset += batch_.size_bytes();
  written_bytes_.Add(batch_.size_bytes());
  position_.checksums = batch_.checksums();
  if (position_.offset > capacity_bytes_ / 2) spares_->Prepare();
  return {};
}

Result<void> Writer::MakeRoom(std::uint64_t size_bytes) {
  if (position_.offset + size_bytes <= capacity_bytes_) return {};
  return CutFor(size_bytes);
}

// Begins a segment that has room for size_bytes after its head. Until the spare file is there
// nothing is changed, so a full disk leaves the log as it was.
Result<void> Writer::CutFor(std::uint64_t size_bytes) {
  const std::string metadata = Encode(metadata_);
  const std::string state = raft::Encode(position_.hard_state);
  const std::size_t head_bound = Batch::Bound(std::size_t{0}) + Batch::Bound(metadata.size()) +
                                 Batch::Bound(state.size()) + kMaxSealFrameBytes;
  Result<SpareSegments::Spare> taken = spares_->Take(head_bound + size_bytes);
  if (!taken.has_value()) {
    if (taken.error().code == Code::kResourceExhausted) return Fail(std::move(taken).error());
    return Poison(Fail(std::move(taken).error()));
  }
  SpareSegments::Spare& spare = *taken;
  KV_RETURN_IF_ERROR(Sync());

  const SegmentName name = {.sequence = position_.segments.back().sequence + 1,
                            .first_index = position_.last_index + 1};
  const std::string path = dir_ + "/" + name.FileName();
  batch_.Begin({.rolling = position_.checksums.rolling, .frames = 0}, head_bound);
  batch_.AddCrc();
  batch_.AddRecord(RecordType::kMetadata, metadata);
  batch_.AddRecord(RecordType::kState, state);
  batch_.AddSeal({.sequence = name.sequence, .file_size_bytes = spare.size_bytes});
  if (Result<void> named = NameSegment(spare, path); !named.has_value()) {
    if (named.error().code != Code::kResourceExhausted) return Poison(std::move(named));
    // Without its name the segment does not count, and another one can be made.
    spares_->Discard(std::move(spare));
    return named;
  }
  KV_FAILPOINT("walAfterSegmentRename");
  KV_RETURN_IF_ERROR(Poison(Timed([this] { return fs_.SyncDirectory(dir_); })));
  // Opened again so that later errors name the segment.
  Result<std::unique_ptr<File>> opened = fs_.Open(path, FileSystem::OpenMode::kReadWrite);
  if (!opened.has_value()) return Poison(Fail(std::move(opened).error()));

  // Frees the unused end of the old segment. If that fails, only space is lost.
  static_cast<void>(tail_->Truncate(position_.offset));
  tail_ = std::move(*opened);
  capacity_bytes_ = spare.size_bytes;
  position_.segments.push_back(name);
  position_.offset = batch_.size_bytes();
  position_.checksums = batch_.checksums();
  position_.sealed = false;
  synced_offset_ = position_.offset;
  return {};
}

// Writes the head of the segment and makes it durable under its name, except for the directory's
// sync.
Result<void> Writer::NameSegment(SpareSegments::Spare& spare, const std::string& path) {
  KV_RETURN_IF_ERROR(spare.file->WriteAt(0, batch_.Parts()));
  KV_RETURN_IF_ERROR(Timed([&spare] { return spare.file->Sync(); }));
  KV_FAILPOINT("walBeforeSegmentRename");
  return fs_.Rename(spare.path, path);
}

void Writer::ReleaseTo(raft::Index index) { released_index_ = std::max(released_index_, index); }

Result<std::size_t> Writer::Purge(std::size_t keep) {
  if (poison_.has_value()) return Fail(*poison_);
  std::vector<SegmentName>& segments = position_.segments;
  std::size_t removable = 0;
  while (removable + 1 < segments.size() && segments.size() - removable > keep &&
         segments[removable + 1].first_index <= released_index_) {
    ++removable;
  }
  if (removable == 0) return std::size_t{0};
  // By the directory's list and not by ours: a purge interrupted by a crash may have left older
  // ones. From the oldest on, so that the rest has no gap.
  KV_TRY(const std::vector<std::string> names, fs_.List(dir_));
  for (const std::string& file : names) {
    const std::optional<SegmentName> name = SegmentName::Parse(file);
    if (!name.has_value() || name->sequence >= segments[removable].sequence) continue;
    KV_FAILPOINT("walBeforePurge");
    KV_RETURN_IF_ERROR(fs_.Remove(dir_ + "/" + file));
  }
  segments.erase(segments.begin(), segments.begin() + static_cast<std::ptrdiff_t>(removable));
  return removable;
}

void Writer::TimeSyncs(const Clock& clock, std::function<void(Duration)> took) {
  sync_clock_ = &clock;
  on_sync_ = std::move(took);
}

Result<void> Writer::Timed(const std::function<Result<void>()>& sync) const {
  if (sync_clock_ == nullptr) return sync();
  const TimePoint begin = sync_clock_->Now();
  Result<void> synced = sync();
  on_sync_(sync_clock_->Now() - begin);
  return synced;
}

void Writer::RetrySpace() { spares_->Prepare(); }

Result<void> Writer::Poison(Result<void> result) {
  if (result.has_value()) return result;
  poison_ = result.error();
  // A retry would fail for ever.
  if (poison_->code == Code::kResourceExhausted) poison_->code = Code::kDataLoss;
  return Fail(*poison_);
}

}  // namespace kvorum::wal
