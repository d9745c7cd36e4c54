#include "wal/wal.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <utility>

#include "base/failpoint/failpoint.h"
#include "wal/log_scan.h"
#include "wal/log_view.h"

namespace kvorum::wal {
namespace {

constexpr std::string_view kLockName = "lock";
constexpr std::string_view kBrokenSuffix = ".broken";
// The bound of the copy of a torn tail, kept for later inspection.
constexpr std::uint64_t kMaxBrokenBytes = std::uint64_t{16} << 20;
constexpr std::size_t kTornZeroBytes = std::size_t{1} << 20;
constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

Result<std::unique_ptr<FileLock>> LockFolder(FileSystem& fs, const std::string& dir) {
  Result<std::unique_ptr<FileLock>> lock = fs.Lock((dir + "/").append(kLockName));
  if (!lock.has_value() && lock.error().code == Code::kFailedPrecondition) {
    return Fail(Code::kFailedPrecondition, "the WAL folder " + dir +
                                               " is in use by another process, and only one may "
                                               "write to it (" +
                                               lock.error().message + ")");
  }
  return lock;
}

Result<void> RemoveTemporaryFiles(FileSystem& fs, const std::string& dir) {
  KV_TRY(const std::vector<std::string> names, fs.List(dir));
  for (const std::string& name : names) {
    if (name.ends_with(kTemporarySuffix)) KV_RETURN_IF_ERROR(fs.Remove((dir + "/").append(name)));
  }
  return {};
}

Result<std::vector<SegmentName>> ListExistingSegments(FileSystem& fs, const std::string& dir) {
  KV_TRY(std::vector<SegmentName> segments, ListSegments(fs, dir));
  if (segments.empty()) return Fail(Code::kNotFound, "there is no WAL in " + dir);
  return segments;
}

Result<void> DecodeInto(const Record& record, std::optional<Metadata>& metadata) {
  KV_TRY(const Metadata decoded, DecodeMetadata(record.data));
  if (metadata.has_value() && *metadata != decoded) {
    return Fail(Code::kDataLoss, "the segment is of another member or cluster than those before");
  }
  metadata = decoded;
  return {};
}

// The size in memory.
std::size_t SizeBytes(const raft::Entry& entry) { return sizeof(entry) + entry.data.size(); }

// Collects the results of Open and Read from the records of the log after a marker.
class ContentsReader {
 public:
  ContentsReader(const SnapshotMarker& from, raft::Index first_index, const Needs& needs)
      : from_(from), needs_(needs), view_(first_index) {
    Clear();
  }

  Result<void> Visit(const Record& record) {
    switch (record.type) {
      case RecordType::kMetadata:
        return DecodeInto(record, metadata_);
      case RecordType::kEntry:
        return VisitEntry(record.data);
      case RecordType::kState: {
        KV_TRY(contents_.hard_state, raft::DecodeHardState(record.data));
        return Follow(view_.AddState(contents_.hard_state));
      }
      case RecordType::kSnapshot: {
        KV_TRY(const SnapshotMarker marker, DecodeSnapshotMarker(record.data));
        return Follow(view_.AddMarker(marker));
      }
      case RecordType::kCrc:
        return {};
    }
    return {};
  }

  // The next entry's index is at most one more.
  raft::Index last_index() const { return view_.last_index(); }

  Result<Contents> Finish(const std::string& dir) {
    if (!marker_found_) {
      return Fail(Code::kNotFound, "the WAL in " + dir + " has no snapshot marker for index " +
                                       std::to_string(from_.index.value()) + ", term " +
                                       std::to_string(from_.term.value()));
    }
    const raft::Index last = previous_.index + entries_.size();
    if (contents_.hard_state.commit > last) {
      return Fail(Code::kDataLoss, "the WAL in " + dir + " ends with entry " +
                                       std::to_string(last.value()) +
                                       ", but its hard state says that entry " +
                                       std::to_string(contents_.hard_state.commit.value()) +
                                       " is committed: entries are missing");
    }
    // The hard state that followed the entry was torn off. Its term has begun all the same; no vote
    // in it can have been promised, as that takes a sync.
    if (!entries_.empty() && entries_.back().term > contents_.hard_state.term) {
      contents_.hard_state.term = entries_.back().term;
      contents_.hard_state.vote = raft::kNone;
    }
    if (metadata_.has_value()) contents_.metadata = *metadata_;
    contents_.previous_index = previous_.index;
    contents_.previous_term = previous_.term;
    contents_.entries.assign(std::move_iterator(entries_.begin()),
                             std::move_iterator(entries_.end()));
    return std::move(contents_);
  }

 private:
  Result<void> VisitEntry(std::string_view data) {
    KV_TRY(raft::Entry entry, raft::DecodeEntry(SharedBytes::Copy(data)));
    KV_RETURN_IF_ERROR(Follow(view_.AddEntry(entry.index, entry.term)));
    if (entry.index <= from_.index) {
      Clear();  // it replaces an entry, and all after that one
      return {};
    }
    if (entry.index <= previous_.index) {
      // It replaces an entry that was left out, which was therefore not committed.
      Clear();
      if (entry.index > from_.index + 1)
        previous_ = {.index = entry.index - 1,
                     .term = view_.TermAt(entry.index - 1).value_or(raft::Term{})};
    }
    const std::uint64_t position = entry.index - previous_.index - 1;
    if (position > entries_.size()) {
      return Fail(Code::kDataLoss, "entry " + std::to_string(entry.index.value()) +
                                       " follows on entry " +
                                       std::to_string((previous_.index + entries_.size()).value()));
    }
    while (entries_.size() > position) {
      size_bytes_ -= SizeBytes(entries_.back());
      entries_.pop_back();
    }
    size_bytes_ += SizeBytes(entry);
    entries_.push_back(std::move(entry));
    LeaveOutWhatIsTooMuch();
    return {};
  }

  void Clear() {
    entries_.clear();
    size_bytes_ = 0;
    previous_ = {.index = from_.index, .term = from_.term};
  }

  void LeaveOutWhatIsTooMuch() {
    while (size_bytes_ > needs_.size_bytes && entries_.size() > 1) {
      if (!not_needed_up_to_) not_needed_up_to_ = needs_.not_up_to ? needs_.not_up_to() : 0;
      const raft::Entry& oldest = entries_.front();
      if (oldest.index > *not_needed_up_to_) return;
      previous_ = {.index = oldest.index, .term = oldest.term};
      size_bytes_ -= SizeBytes(oldest);
      entries_.pop_front();
    }
  }

  Result<void> Follow(const LogView::Change& change) {
    if (!change.counts.has_value()) return {};
    const SnapshotMarker& marker = *change.counts;
    if (change.restarts) {
      Clear();
      if (marker.index > from_.index) {
        return Fail(Code::kDataLoss, "from here on the log follows a received snapshot at index " +
                                         std::to_string(marker.index.value()) +
                                         "; it cannot be read from index " +
                                         std::to_string(from_.index.value()));
      }
    }
    if (marker.index != from_.index) return {};
    if (marker.term != from_.term) {
      return Fail(Code::kDataLoss, "the snapshot marker for index " +
                                       std::to_string(marker.index.value()) + " has term " +
                                       std::to_string(marker.term.value()) + ", the snapshot has " +
                                       std::to_string(from_.term.value()));
    }
    marker_found_ = true;
    return {};
  }

  struct Position {
    raft::Index index = 0;
    raft::Term term = 0;
  };

  const SnapshotMarker& from_;
  const Needs& needs_;
  std::optional<raft::Index> not_needed_up_to_;
  std::optional<Metadata> metadata_;
  Contents contents_;
  Position previous_;  // the position before the entries
  std::deque<raft::Entry> entries_;
  std::size_t size_bytes_ = 0;  // of the entries
  LogView view_;
  bool marker_found_ = false;
};

struct LogContents {
  std::vector<SegmentName> segments;
  Contents contents;
  raft::Index last_index = 0;
  LogEnd end;
};

// Without the log's lock its member may purge a segment after it was listed. Then what is left is
// read: `read`, called with the segments that there are, is called again.
template <class ReadSegments>
auto ReadWhatIsLeft(FileSystem& fs, const std::string& dir, const ReadSegments& read)
    -> decltype(read(std::vector<SegmentName>())) {
  KV_TRY(std::vector<SegmentName> segments, ListExistingSegments(fs, dir));
  while (true) {
    const std::uint64_t first = segments.front().sequence;
    auto result = read(std::move(segments));
    if (result.has_value() || result.error().code != Code::kNotFound) return result;
    KV_TRY(segments, ListExistingSegments(fs, dir));
    if (segments.front().sequence == first) return result;
  }
}

Result<LogContents> ReadContents(FileSystem& fs, const std::string& dir,
                                 std::vector<SegmentName> segments, const SnapshotMarker& from,
                                 const Needs& needs) {
  LogContents log{.segments = std::move(segments), .contents = {}, .last_index = 0, .end = {}};
  // The entry after the marker is in the last segment that begins at or below the marker, or in a
  // later one.
  const auto after = std::ranges::find_if(
      log.segments, [&](const SegmentName& name) { return name.first_index > from.index; });
  if (after == log.segments.begin()) {
    return Fail(Code::kNotFound, "the WAL in " + dir + " begins with entry " +
                                     std::to_string(log.segments.front().first_index.value()) +
                                     ", behind the snapshot at " +
                                     std::to_string(from.index.value()));
  }
  const auto first = static_cast<std::size_t>(after - log.segments.begin()) - 1;
  ContentsReader reader(from, log.segments[first].first_index, needs);
  KV_TRY(log.end, ScanLog(fs, dir, std::span(log.segments).subspan(first),
                          [&](const Record& record) { return reader.Visit(record); }));
  KV_TRY(log.contents, reader.Finish(dir));
  log.last_index = std::max(reader.last_index(), from.index);
  return log;
}

// A torn write was never acknowledged, so no state can contain its entries.
Result<void> CheckTorn(const LogContents& log, const Options& options) {
  if (!log.end.torn.has_value() || !options.durable_index) return {};
  KV_TRY(const raft::Index durable, options.durable_index());
  if (durable <= log.last_index) return {};
  return FailDamaged(log.end.torn->file, log.end.torn->offset,
                     log.end.torn->reason + "; the entries before it end at " +
                         std::to_string(log.last_index.value()) + ", and entry " +
                         std::to_string(durable.value()) + " has been applied");
}

// For a person to inspect; the log does not need it, so errors are ignored.
void KeepBrokenBytes(FileSystem& fs, File& file, const TornTail& torn) {
  std::string bytes(static_cast<std::size_t>(std::min(torn.size_bytes, kMaxBrokenBytes)), '\0');
  const Result<std::size_t> got = file.ReadAt(torn.offset, bytes.data(), bytes.size());
  if (!got.has_value()) return;
  bytes.resize(*got);
  static_cast<void>(WriteFileAtomically(fs, torn.file + std::string(kBrokenSuffix), bytes));
}

Result<void> ZeroTornTail(File& file, const TornTail& torn) {
  const std::string zeros(
      static_cast<std::size_t>(std::min<std::uint64_t>(kTornZeroBytes, torn.size_bytes)), '\0');
  for (std::uint64_t done = 0; done < torn.size_bytes; done += zeros.size()) {
    const std::array<std::string_view, 1> part = {
        std::string_view(zeros).substr(0, static_cast<std::size_t>(torn.size_bytes - done))};
    KV_RETURN_IF_ERROR(file.WriteAt(torn.offset + done, part));
  }
  return {};
}

// The bytes read may be in the kernel's cache only: a failed sync leaves pages that count as clean
// there, and later syncs skip them. Rewriting makes them dirty again. A crash meanwhile does no
// harm: every sector is replaced by itself.
Result<void> WriteAgain(File& file, std::uint64_t begin, std::uint64_t end) {
  std::string bytes;
  for (std::uint64_t at = begin; at < end; at += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBytes, end - at)));
    KV_TRY(const std::size_t got, file.ReadAt(at, bytes.data(), bytes.size()));
    if (got < bytes.size()) {
      return Fail(Code::kDataLoss, file.path() + " became shorter while it was read");
    }
    const std::array<std::string_view, 1> part = {bytes};
    KV_RETURN_IF_ERROR(file.WriteAt(at, part));
  }
  return {};
}

}  // namespace

Result<bool> Exists(FileSystem& fs, const std::string& dir) {
  KV_TRY(const bool exists, fs.Exists(dir));
  if (!exists) return false;
  KV_TRY(const std::vector<SegmentName> segments, ListSegments(fs, dir));
  return !segments.empty();
}

Result<std::unique_ptr<Writer>> Create(FileSystem& fs, const std::string& dir,
                                       const Metadata& metadata, const Options& options) {
  KV_RETURN_IF_ERROR(fs.MakeDirectories(dir));
  KV_TRY(std::unique_ptr<FileLock> lock, LockFolder(fs, dir));
  KV_TRY(const bool exists, Exists(fs, dir));
  if (exists) return Fail(Code::kAlreadyExists, "there is a WAL in " + dir + " already");
  KV_RETURN_IF_ERROR(RemoveTemporaryFiles(fs, dir));

  const std::string encoded = Encode(metadata);
  const std::string marker = Encode(SnapshotMarker{});
  const std::size_t bound = Batch::Bound(std::size_t{0}) + Batch::Bound(encoded.size()) +
                            Batch::Bound(marker.size()) + kMaxSealFrameBytes;
  const SegmentName name;
  const std::string path = dir + "/" + name.FileName();
  KV_TRY(SpareSegments::Spare spare,
         SpareSegments::Make(fs, dir, std::max<std::uint64_t>(options.segment_size_bytes, bound),
                             options.zero_segments));
  Batch head;
  head.Begin({}, bound);
  head.AddCrc();
  head.AddRecord(RecordType::kMetadata, encoded);
  head.AddRecord(RecordType::kSnapshot, marker);
  head.AddSeal({.sequence = name.sequence, .file_size_bytes = spare.size_bytes});
  KV_RETURN_IF_ERROR(spare.file->WriteAt(0, head.Parts()));
  KV_RETURN_IF_ERROR(spare.file->Sync());
  KV_FAILPOINT("walBeforeSegmentRename");
  KV_RETURN_IF_ERROR(fs.Rename(spare.path, path));
  KV_FAILPOINT("walAfterSegmentRename");
  KV_RETURN_IF_ERROR(fs.SyncDirectory(dir));
  KV_RETURN_IF_ERROR(fs.SyncDirectory(ParentDirectory(dir)));
  KV_TRY(std::unique_ptr<File> tail, fs.Open(path, FileSystem::OpenMode::kReadWrite));
  Writer::Position position;
  position.segments = {name};
  position.offset = head.size_bytes();
  position.checksums = head.checksums();
  return std::make_unique<Writer>(fs, dir, metadata, options, std::move(lock), std::move(tail),
                                  spare.size_bytes, std::move(position));
}

namespace {

Result<std::vector<SnapshotMarker>> MarkersOf(FileSystem& fs, const std::string& dir,
                                              std::span<const SegmentName> segments) {
  std::vector<SnapshotMarker> markers;
  raft::HardState state;
  LogView view(segments.front().first_index);
  raft::Index restarted_at = 0;
  const auto follow = [&](LogView::Change change) {
    if (!change.counts.has_value()) return;
    const raft::Index index = change.counts->index;
    // Markers before a received snapshot lead nowhere.
    if (change.restarts) markers.clear();
    if (!change.restarts && index < restarted_at) return;
    if (change.restarts) restarted_at = index;
    markers.push_back(*std::move(change.counts));
  };
  const auto visit = [&](const Record& record) -> Result<void> {
    if (record.type == RecordType::kSnapshot) {
      KV_TRY(const SnapshotMarker marker, DecodeSnapshotMarker(record.data));
      follow(view.AddMarker(marker));
    } else if (record.type == RecordType::kState) {
      KV_TRY(state, raft::DecodeHardState(record.data));
      follow(view.AddState(state));
    } else if (record.type == RecordType::kEntry) {
      // Borrowed: only index and term are used.
      KV_TRY(const raft::Entry entry, raft::DecodeEntry(SharedBytes::Static(record.data)));
      follow(view.AddEntry(entry.index, entry.term));
    }
    return {};
  };
  KV_TRY(const LogEnd end, ScanLog(fs, dir, segments, visit));
  std::erase_if(markers, [&](const SnapshotMarker& m) { return m.index > state.commit; });
  return markers;
}

}  // namespace

Result<std::vector<SnapshotMarker>> ListMarkers(FileSystem& fs, const std::string& dir) {
  return ReadWhatIsLeft(fs, dir, [&](const std::vector<SegmentName>& segments) {
    return MarkersOf(fs, dir, segments);
  });
}

Result<Contents> Read(FileSystem& fs, const std::string& dir, const SnapshotMarker& from) {
  return ReadWhatIsLeft(fs, dir, [&](std::vector<SegmentName> segments) -> Result<Contents> {
    KV_TRY(LogContents log, ReadContents(fs, dir, std::move(segments), from, {}));
    return std::move(log.contents);
  });
}

Result<Opened> Open(FileSystem& fs, const std::string& dir, const SnapshotMarker& from,
                    const Options& options, const Needs& needs) {
  KV_TRY(const bool exists, Exists(fs, dir));
  if (!exists) return Fail(Code::kNotFound, "there is no WAL in " + dir);
  KV_TRY(std::unique_ptr<FileLock> lock, LockFolder(fs, dir));
  KV_TRY(std::vector<SegmentName> segments, ListExistingSegments(fs, dir));
  KV_TRY(LogContents log, ReadContents(fs, dir, std::move(segments), from, needs));
  KV_RETURN_IF_ERROR(CheckTorn(log, options));
  KV_RETURN_IF_ERROR(RemoveTemporaryFiles(fs, dir));

  const std::string path = dir + "/" + log.segments.back().FileName();
  KV_TRY(std::unique_ptr<File> tail, fs.Open(path, FileSystem::OpenMode::kReadWrite));
  if (log.end.torn.has_value()) {
    KeepBrokenBytes(fs, *tail, *log.end.torn);
    KV_RETURN_IF_ERROR(ZeroTornTail(*tail, *log.end.torn));
  }
  KV_TRY(std::uint64_t capacity, tail->Size());
  if (capacity < options.segment_size_bytes &&
      tail->Allocate(options.segment_size_bytes).has_value()) {
    capacity = options.segment_size_bytes;  // otherwise the disk is full, and the next Append will
                                            // report it
  }
  // A process that was killed may have written this and not synced it, or one that ended at a
  // failed sync; the cluster relies on it from now on.
  KV_RETURN_IF_ERROR(WriteAgain(*tail, log.end.synced_offset, log.end.offset));
  KV_RETURN_IF_ERROR(tail->Sync());
  KV_RETURN_IF_ERROR(fs.SyncDirectory(dir));
  KV_RETURN_IF_ERROR(fs.SyncDirectory(ParentDirectory(dir)));

  Writer::Position position;
  position.segments = std::move(log.segments);
  position.offset = log.end.offset;
  position.checksums = log.end.checksums;
  position.sealed = log.end.sealed;
  position.last_index = log.last_index;
  position.hard_state = log.contents.hard_state;
  Opened opened;
  opened.writer = std::make_unique<Writer>(fs, dir, log.contents.metadata, options, std::move(lock),
                                           std::move(tail), capacity, std::move(position));
  opened.contents = std::move(log.contents);
  opened.torn = std::move(log.end.torn);
  return opened;
}

}  // namespace kvorum::wal
