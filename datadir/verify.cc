#include "datadir/verify.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "datadir/content_check.h"
#include "datadir/database_file.h"
#include "datadir/log_summary.h"
#include "datadir/snapshot_files.h"
#include "datadir/wait_for_lock.h"
#include "datadir/watched_database.h"
#include "mvcc/index/index_file.h"
#include "mvcc/index/index_file_reader.h"
#include "mvcc/lmdb/write_batch.h"
#include "mvcc/records/bucket.h"

namespace kvorum::datadir {
namespace {

std::string Text(raft::Index index) { return std::to_string(index.value()); }

std::uint64_t BigEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

class Verification {
 public:
  Verification(FileSystem& fs, Layout layout, Duration timeout, const OnProgress& on_progress)
      : fs_(fs), layout_(std::move(layout)), timeout_(timeout), on_progress_(on_progress) {}

  Result<Verified> Run() {
    KV_TRY(const bool there, fs_.Exists(layout_.snap));
    if (!there) return Fail(Code::kNotFound, "there is no member in " + layout_.root);
    KV_TRY(const auto lock, KeepMovesAway());
    KV_TRY(found_.owner, OwnerOfDatabase(fs_, layout_.database));
    const Result<bool> is_ours = IsOurs(fs_, layout_);
    if (!is_ours.has_value() && is_ours.error().code == Code::kFailedPrecondition) {
      Problem(is_ours.error().message);
      return std::move(found_);
    }
    if (!is_ours.has_value()) return Fail(is_ours.error());
    KV_RETURN_IF_ERROR(CheckMoves(*is_ours));
    KV_RETURN_IF_ERROR(ReadDatabase());
    KV_RETURN_IF_ERROR(ReadLog());
    return std::move(found_);
  }

 private:
  void Problem(std::string text) { found_.problems.push_back(std::move(text)); }
  void Lost(std::string text) { found_.lost.push_back(std::move(text)); }

  // A directory of etcd's has no such file, and gets none. A user who may not open it continues
  // without it: the database's own lock is taken in any case.
  Result<std::unique_ptr<FileLock>> KeepMovesAway() {
    KV_TRY(const bool there, fs_.Exists(layout_.lock));
    if (!there) return nullptr;
    auto lock = WaitForLock(timeout_, [&] { return LockMember(fs_, layout_); });
    if (lock.has_value() || lock.error().code != Code::kPermissionDenied) return lock;
    found_.notes.push_back(lock.error().message +
                           ": a move that goes on meanwhile would not be noticed");
    return nullptr;
  }

  // A directory between two owners starts under neither.
  Result<void> CheckMoves(bool is_ours) {
    KV_TRY(const bool adopting, fs_.Exists(layout_.Adopted()));
    KV_TRY(const bool has_release_begun, HasReleaseBegun(fs_, layout_));
    KV_TRY(const bool is_released, fs_.Exists(layout_.Released()));
    const bool goes_on = is_ours ? has_release_begun && is_released : adopting;
    if (found_.owner == DatabaseOwner::kUnknown) return {};  // reading it tells more
    if (found_.owner == DatabaseOwner::kNobody && !goes_on) {
      Problem("there is no database in " + layout_.snap);
      Lost("all keys");
    } else if (is_ours && found_.owner == DatabaseOwner::kEtcd && !has_release_begun) {
      Problem(layout_.database + " is a database of etcd, which no release has put there");
    } else if (is_ours && found_.owner != DatabaseOwner::kKvorum) {
      Problem("a release to etcd is not finished: run kvorumutl release again");
    } else if (!is_ours && found_.owner != DatabaseOwner::kEtcd) {
      Problem("an adoption from etcd is not finished: run kvorumutl adopt again");
    }
    return {};
  }

  Result<void> ReadDatabase() {
    if (found_.owner == DatabaseOwner::kNobody) return {};
    auto file = OpenDatabaseFile(layout_.database, timeout_);
    // A database that cannot be opened here, or has just been moved away, may be whole.
    if (!file.has_value() &&
        (file.error().code == Code::kFailedPrecondition || file.error().code == Code::kNotFound ||
         file.error().code == Code::kPermissionDenied ||
         file.error().code == Code::kResourceExhausted))
      return Fail(file.error());
    auto read =
        file.has_value() ? ReadWatched(*Watch(*std::move(file), on_progress_)) : Fail(file.error());
    if (read.has_value()) {
      found_.database = *std::move(read);
      return {};
    }
    Problem(read.error().message);
    Lost("the keys of this member, as far as no other member and no backup has them; " + Kept());
    return {};
  }

  std::string Kept() {
    for (const std::string& kept : {layout_.KeptOfEtcd(), layout_.KeptOfOurs()})
      if (fs_.Exists(kept).value_or(false)) return "an older state is in " + kept;
    return "no older state is kept here";
  }

  Result<VerifiedDatabase> ReadWatched(DatabaseFile& file) {
    KV_TRY(VerifiedDatabase found, ReadContent(file));
    if (found_.owner == DatabaseOwner::kKvorum) KV_RETURN_IF_ERROR(CheckSavedIndex(file));
    return found;
  }

  // It saves a start some time, and is of no other use.
  Result<void> CheckSavedIndex(DatabaseFile& database) {
    const auto saved = mvcc::CheckIndexFile(fs_, layout_.database);
    if (!saved.has_value() && saved.error().code == Code::kNotFound) return {};
    KV_TRY(const auto mark, database.GetMeta(mvcc::meta_key::kIndexMark));
    const std::string path = mvcc::IndexFilePath(layout_.database);
    if (!saved.has_value()) {
      found_.notes.push_back("the saved key index in " + path + " cannot be used (" +
                             saved.error().message + "): a start reads every record instead");
    } else if (!mvcc::HasIndexMark(mark.value_or(""), saved->mark)) {
      found_.notes.push_back("the saved key index in " + path +
                             " is of another database: a start reads every record "
                             "instead");
    }
    return {};
  }

  static Result<VerifiedDatabase> ReadContent(DatabaseFile& file) {
    KV_RETURN_IF_ERROR(file.Check());
    VerifiedDatabase found{.size_bytes = file.SizeBytes()};
    KV_TRY(const auto applied, file.GetMeta(mvcc::meta_key::kConsistentIndex));
    found.applied = raft::Index{BigEndian(applied.value_or(""))};
    KV_TRY(const auto version, file.GetMeta(mvcc::meta_key::kStorageVersion));
    found.storage_version = version.value_or("");
    ContentCheck content;
    KV_RETURN_IF_ERROR(
        file.Visit({.bucket = [&](std::string_view name) -> Result<void> {
                      content.BeginBucket(name);
                      return {};
                    },
                    .record = [&](std::string_view key,
                                  std::string_view value) { return content.Add(key, value); },
                    .nested = [&](std::string_view key) { return content.AddNested(key); }}));
    KV_RETURN_IF_ERROR(content.CheckBuckets());
    KV_RETURN_IF_ERROR(content.CheckWhole());
    found.records = content.revisions();
    found.revision = content.newest_revision();
    return found;
  }

  // The last entry that the database has; 0 if it cannot be read.
  raft::Index Applied() const {
    return found_.database.has_value() ? found_.database->applied : raft::Index{};
  }

  Result<void> ReadLog() {
    KV_TRY(const bool exists, wal::Exists(fs_, layout_.wal));
    if (!exists) {
      Problem("there is no log in " + layout_.wal + "; --wal-dir names another folder");
      Lost("everything that the database does not have");
      return {};
    }
    Tell(on_progress_, kReadingLog);
    raft::Index readable_to = 0;
    const auto log = SummarizeLog(fs_, layout_.wal, Applied(), &readable_to);
    if (!log.has_value()) {
      Problem(log.error().message);
      found_.last_index = readable_to;
      Lost("the log's entries after " + Text(readable_to) +
           (found_.database.has_value()
                ? "; the database has those up to " + Text(found_.database->applied)
                : ""));
      return {};
    }
    found_.member = log->metadata.node_id;
    found_.cluster = log->metadata.cluster_id;
    found_.first_index = std::max<raft::Index>(log->first_index, 1);
    found_.last_index = log->last_index;
    found_.commit = log->hard_state.commit;
    if (log->torn.has_value()) {
      found_.notes.push_back("the last write to the log, at offset " +
                             std::to_string(log->torn->offset) + " of " + log->torn->file +
                             ", was cut off: a start removes it; it was never acknowledged");
    }
    KV_RETURN_IF_ERROR(ReadSnapshotFiles(*log));
    CheckFits(*log);
    return {};
  }

  Result<void> ReadSnapshotFiles(const LogSummary& log) {
    KV_TRY(const std::vector<std::string> names, fs_.List(layout_.snap));
    raft::Index newest = 0;
    for (const std::string& name : names) {
      if (!name.ends_with(".snap")) continue;
      const std::string path = layout_.snap + "/" + name;
      const auto file = ReadSnapshotFile(fs_, path);
      if (!file.has_value()) {
        found_.notes.push_back(file.error().message + "; an older one is taken");
        continue;
      }
      const bool marked = std::ranges::any_of(log.markers, [&](const wal::SnapshotMarker& marker) {
        return marker.index == file->index && marker.term == file->term;
      });
      if (marked) newest = std::max(newest, file->index);
    }
    found_.snapshot_index = newest;
    return {};
  }

  void CheckFits(const LogSummary& log) {
    const raft::Index from = found_.snapshot_index.value_or(raft::Index{});
    if (log.first_index > from + 1) {
      Problem("the log begins with entry " + Text(log.first_index) +
              ", and the newest snapshot file that counts is of entry " + Text(from));
      Lost("the entries between them, unless the database has them");
    }
    if (found_.database.has_value()) CheckDatabaseFits(log, from, found_.database->applied);
    if (found_.database.has_value() && found_.owner == DatabaseOwner::kKvorum &&
        log.unknown_entry.has_value())
      Problem("entry " + Text(*log.unknown_entry) + " of the log is of a kind that is not known");
  }

  void CheckDatabaseFits(const LogSummary& log, raft::Index from, raft::Index applied) {
    if (applied < from) CheckReceivedSnapshot(from, applied);
    if (applied > log.last_index && applied > from) {
      Problem("the database is at entry " + Text(applied) + ", but the log ends at " +
              Text(log.last_index));
      Lost("log files: entries after " + Text(log.last_index));
    }
  }

  // A snapshot that was received becomes the database at the start.
  void CheckReceivedSnapshot(raft::Index from, raft::Index applied) {
    const std::string received = ReceivedSnapshotPath(layout_.snap, from);
    if (!fs_.Exists(received).value_or(false)) {
      Problem("the database is at entry " + Text(applied) + ", older than the log's snapshot at " +
              Text(from));
    } else {
      auto file = OpenDatabaseFile(received, timeout_);
      const auto read = file.has_value() ? ReadContent(*Watch(*std::move(file), on_progress_))
                                         : Fail(file.error());
      if (read.has_value() && read->applied >= from) return;
      Problem(received + ", a snapshot that was received: " +
              (read.has_value() ? "it is at entry " + Text(read->applied) + ", not at " + Text(from)
                                : read.error().message));
    }
    Lost("the changes from entry " + Text(applied) + " to " + Text(from) +
         ", as far as no other member has them");
  }

  FileSystem& fs_;
  const Layout layout_;
  const Duration timeout_;
  const OnProgress& on_progress_;
  Verified found_;
};

}  // namespace

Result<Verified> Verify(FileSystem& fs, const std::string& data_dir, const std::string& wal_dir,
                        Duration timeout, const OnProgress& on_progress) {
  return Verification(fs, Layout(data_dir, wal_dir), timeout, on_progress).Run();
}

}  // namespace kvorum::datadir
