#include "server/replica/drive/log_writer.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "datadir/snapshot_files.h"
#include "raft/log.h"

namespace kvorum::server {
namespace {

// A sync that takes longer is logged, as in etcd.
constexpr Duration kSlowSync = std::chrono::seconds(1);
constexpr Duration kFullDiskRetry = std::chrono::seconds(1);

}  // namespace

LogWriter::LogWriter(FileSystem& fs, std::unique_ptr<wal::Writer> writer, Executor& wal,
                     Options options, Hooks hooks)
    : fs_(fs),
      writer_(std::move(writer)),
      wal_(wal),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      inbox_(wal, [this] { Drain(); }),
      kept_up_to_(options_.snapshot_index) {
  writer_->TimeSyncs(wal.clock(), [this](Duration took) { OnSync(took); });
}

void LogWriter::Push(Write write) {
  inbox_.Put([&](std::vector<Write>& writes) {
    writes.push_back(std::move(write));
    // A write that only moves the commit index waits for the next one that needs the disk.
    return writes.back().must_sync;
  });
}

void LogWriter::Drain() {
  TakeQueue();
  if (std::ranges::any_of(unwritten_, &Write::must_sync)) static_cast<void>(WriteUnwritten());
}

void LogWriter::TakeQueue() { std::ranges::move(inbox_.Take(), std::back_inserter(unwritten_)); }

bool LogWriter::WriteUnwritten() {
  if (closed_ || waiting_for_space_) return false;
  std::uint64_t durable = 0;
  raft::Index last = 0;
  for (const Write& write : unwritten_) {
    if (write.must_sync) durable = std::max(durable, write.ready_number);
    if (!write.entries.empty()) last = write.entries.back().index;
  }
  Mark(WriteStage::kWriteBegun, last);
  if (!WriteAll(unwritten_)) return false;
  Mark(WriteStage::kSynced, last);
  KV_FAILPOINT("raftAfterSave");
  unwritten_.clear();
  if (durable != 0) hooks_.on_persisted(durable);
  for (auto& snapshot : std::exchange(received_, {}))
    hooks_.on_snapshot_durable(std::move(snapshot));
  return true;
}

bool LogWriter::WriteAll(std::vector<Write>& writes) {
  if (const auto appended = AppendAll(writes); !appended.has_value()) {
    if (appended.error().code != Code::kResourceExhausted) {
      Fatal(appended.error());
      return false;
    }
    WaitForSpace(appended.error());
    return false;
  }
  if (const auto synced = Sync(); !synced.has_value()) {
    Fatal(synced.error());
    return false;
  }
  return true;
}

void LogWriter::Mark(WriteStage stage, raft::Index up_to) {
  if (options_.stages != nullptr && up_to != 0)
    options_.stages->Mark(stage, up_to, wal_.clock().Now());
}

Result<void> LogWriter::Sync() {
  if (options_.unsafe_no_fsync) return {};
  return writer_->Sync();
}

void LogWriter::OnSync(Duration took) {
  times_.sync.Observe(took);
  if (took > kSlowSync) {
    KV_WARN("slow fdatasync", {"took", FormatDuration(took)},
            {"expected-duration", FormatDuration(kSlowSync)});
  }
}

void LogWriter::WaitForSpace(const Error& error) {
  KV_ERROR("the disk of the log is full; trying again", {"error", error.message});
  DropKept();
  writer_->RetrySpace();
  waiting_for_space_ = true;
  wal_.PostAt(wal_.clock().Now() + kFullDiskRetry, [this] {
    waiting_for_space_ = false;
    Drain();
  });
}

// Neighbours are joined as long as their indexes are consecutive, up to a part's size; a write that
// replaces entries stays separate, and a received snapshot comes between the entries before and
// after it.
Result<void> LogWriter::AppendAll(std::vector<Write>& writes) {
  Part part;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    Write& write = writes[i];
    const bool follows = part.entries.empty() || write.entries.empty() ||
                         write.entries.front().index == part.entries.back().index + 1;
    if (!follows || write.snapshot != nullptr) KV_RETURN_IF_ERROR(AppendPart(part, writes, i, 0));
    if (write.snapshot != nullptr) KV_RETURN_IF_ERROR(SaveReceived(write));
    for (std::size_t taken = 0; taken < write.entries.size();) {
      const std::size_t bytes = raft::SizeBytes(write.entries[taken]);
      if (part.bytes > 0 && part.bytes + bytes > options_.part_bytes) {
        if (taken > 0 && write.hard_state.has_value()) {
          // An entry's term is never newer than the log's; the commit index comes with the rest.
          const raft::Index commit =
              part.state.has_value() ? part.state->commit : writer_->hard_state().commit;
          part.state = *write.hard_state;
          part.state->commit = commit;
        }
        KV_RETURN_IF_ERROR(AppendPart(part, writes, i, std::exchange(taken, 0)));
        continue;
      }
      part.entries.push_back(write.entries[taken++]);
      part.bytes += bytes;
    }
    if (write.hard_state.has_value()) part.state = write.hard_state;
  }
  return AppendPart(part, writes, writes.size(), 0);
}

// With it the writes before `end` are in the log, and `entries` of the one there: they are not
// written again when the next part meets a full disk.
Result<void> LogWriter::AppendPart(Part& part, std::vector<Write>& writes, std::size_t end,
                                   std::size_t entries) {
  if (!part.entries.empty() || part.state.has_value()) {
    KV_RETURN_IF_ERROR(Sync());  // the writes of an earlier part
    const ObservedTime time(times_.write, wal_.clock());
    KV_RETURN_IF_ERROR(
        writer_->Append(part.entries, part.state.has_value() ? &*part.state : nullptr));
  }
  for (Write& done : std::span(writes).subspan(part.begin, end - part.begin)) {
    done.entries.clear();
    done.hard_state.reset();
  }
  if (entries > 0) {
    auto& rest = writes[end].entries;
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(entries));
  }
  part = {.begin = end};
  return {};
}

// In this order: a marker in the log is trusted, so its file must be there before it; and the
// entries after it mean nothing without it. A crash in between leaves the log as it was.
Result<void> LogWriter::SaveReceived(Write& write) {
  const raft::SnapshotMetadata& metadata = write.snapshot->metadata;
  KV_FAILPOINT("raftBeforeSaveSnap");
  KV_RETURN_IF_ERROR(datadir::SaveSnapshotFile(fs_, options_.snap_dir, metadata));
  KV_FAILPOINT("raftBeforeWALSaveSnaphot");
  KV_RETURN_IF_ERROR(Sync());
  raft::HardState state = write.hard_state.value_or(writer_->hard_state());
  state.commit = metadata.index;
  KV_RETURN_IF_ERROR(writer_->SaveReceivedSnapshot(
      {.index = metadata.index, .term = metadata.term, .conf_state = metadata.conf_state}, state));
  KV_FAILPOINT("raftAfterSaveSnap");
  KV_INFO("saved a received snapshot", {"snapshot-index", metadata.index},
          {"snapshot-term", metadata.term});
  received_index_ = metadata.index;
  received_.push_back(std::exchange(write.snapshot, nullptr));
  return {};
}

void LogWriter::WatchSpace() {
  if (!watching_space_.exchange(true)) RetrySpaceLater();
}

void LogWriter::RetrySpaceLater() {
  wal_.PostAt(wal_.clock().Now() + kFullDiskRetry, [this] {
    if (closed_ || !SpaceLow()) {
      watching_space_ = false;
      return;
    }
    DropKept();
    writer_->RetrySpace();
    RetrySpaceLater();
  });
}

void LogWriter::DropKept() {
  const raft::Index kept = std::exchange(kept_up_to_, raft::Index{});
  if (kept == 0 || closed_) return;
  writer_->ReleaseTo(kept);
  const auto purged = writer_->Purge(options_.max_wals);
  const std::size_t removed = purged.value_or(std::size_t{0});
  if (removed != 0) {
    KV_WARN(
        "removed log files that followers or the archive may still need: the disk is short of "
        "space",
        {"files", removed}, {"up-to-index", kept});
  }
}

void LogWriter::SaveSnapshot(raft::SnapshotMetadata metadata, raft::Index release) {
  wal_.Post([this, metadata = std::move(metadata), release] {
    // A marker counts only up to the commit index in the log itself, and that one may still wait
    // here.
    TakeQueue();
    if (!WriteUnwritten()) return hooks_.on_snapshot_ended(0);
    if (metadata.index < received_index_) return hooks_.on_snapshot_ended(0);  // overtaken
    KV_FAILPOINT("logSnapshotBeforeFile");
    const ObservedTime time(times_.snapshot, wal_.clock());
    if (const auto saved = datadir::SaveSnapshotFile(fs_, options_.snap_dir, metadata);
        !saved.has_value()) {
      if (saved.error().code != Code::kResourceExhausted) return Fatal(saved.error());
      KV_WARN("no space for a snapshot of the log; keeping more of it",
              {"error", saved.error().message});
      return hooks_.on_snapshot_ended(0);
    }
    KV_FAILPOINT("raftBeforeWALSaveSnaphot");
    const wal::SnapshotMarker marker{
        .index = metadata.index, .term = metadata.term, .conf_state = metadata.conf_state};
    if (const auto marked = writer_->SaveSnapshot(marker); !marked.has_value()) {
      if (marked.error().code != Code::kResourceExhausted) return Fatal(marked.error());
      return hooks_.on_snapshot_ended(0);
    }
    KV_FAILPOINT("logSnapshotAfterMarker");
    KV_INFO("saved snapshot to disk", {"snapshot-index", metadata.index},
            {"snapshot-term", metadata.term});
    writer_->ReleaseTo(release);
    kept_up_to_ = release < metadata.index ? metadata.index : raft::Index{};
    KV_FAILPOINT("logSnapshotAfterRelease");
    if (const auto purged = writer_->Purge(options_.max_wals); !purged.has_value()) {
      KV_WARN("could not remove old log files", {"error", purged.error().message});
    }
    if (const auto purged =
            datadir::PurgeSnapshotFiles(fs_, options_.snap_dir, options_.max_snapshots);
        !purged.has_value()) {
      KV_WARN("could not remove old snapshot files", {"error", purged.error().message});
    }
    hooks_.on_snapshot_ended(metadata.index);
  });
}

void LogWriter::Close(Task done) {
  wal_.Post([this, done = std::move(done)]() mutable {
    if (!closed_) {
      closed_ = true;
      if (const auto closed = writer_->Close(); !closed.has_value()) {
        KV_WARN("could not seal the log", {"error", closed.error().message});
      }
    }
    done();
  });
}

void LogWriter::Fatal(const Error& error) {
  closed_ = true;
  hooks_.on_fatal(error);
}

}  // namespace kvorum::server
