#include "datadir/verify.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "datadir/database_file.h"
#include "datadir/log_summary.h"
#include "datadir/snapshot_files.h"
#include "mvcc/bucket.h"
#include "mvcc/write_batch.h"

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
  Verification(FileSystem& fs, Layout layout, Duration timeout)
      : fs_(fs), layout_(std::move(layout)), timeout_(timeout) {}

  Result<Verified> Run() {
    KV_TRY(const bool there, fs_.Exists(layout_.snap));
    if (!there) return Fail(Code::kNotFound, "there is no member in " + layout_.root);
    KV_TRY(found_.owner, OwnerOfDatabase(fs_, layout_.database));
    KV_RETURN_IF_ERROR(CheckMoves());
    KV_RETURN_IF_ERROR(ReadDatabase());
    KV_RETURN_IF_ERROR(ReadLog());
    return std::move(found_);
  }

 private:
  void Problem(std::string text) { found_.problems.push_back(std::move(text)); }
  void Lost(std::string text) { found_.lost.push_back(std::move(text)); }

  // A directory between two owners starts under neither.
  Result<void> CheckMoves() {
    KV_TRY(const bool is_ours, fs_.Exists(layout_.format));
    KV_TRY(const bool adopting, fs_.Exists(layout_.Adopted()));
    KV_TRY(const bool releasing, fs_.Exists(layout_.Released()));
    const bool has_database = found_.owner != DatabaseOwner::kNobody;
    if (!has_database && !adopting && !releasing) {
      Problem("there is no database in " + layout_.snap);
      Lost("all keys");
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
    // A database that cannot be opened here may be whole.
    if (!file.has_value() && (file.error().code == Code::kFailedPrecondition ||
                              file.error().code == Code::kPermissionDenied ||
                              file.error().code == Code::kResourceExhausted))
      return Fail(file.error());
    const Result<void> read = file.has_value() ? ReadContent(**file) : Fail(file.error());
    database_is_good_ = read.has_value();
    if (database_is_good_) return {};
    Problem(read.error().message);
    Lost("the keys of this member, as far as no other member and no backup has them; " + Kept());
    return {};
  }

  std::string Kept() {
    for (const std::string& kept : {layout_.KeptOfEtcd(), layout_.KeptOfOurs()})
      if (fs_.Exists(kept).value_or(false)) return "an older state is in " + kept;
    return "no older state is kept here";
  }

  Result<void> ReadContent(DatabaseFile& file) {
    KV_RETURN_IF_ERROR(file.Check());
    found_.size_bytes = file.SizeBytes();
    KV_TRY(const auto applied, file.GetMeta(mvcc::meta_key::kConsistentIndex));
    found_.applied = raft::Index{BigEndian(applied.value_or(""))};
    KV_TRY(const auto version, file.GetMeta(mvcc::meta_key::kStorageVersion));
    found_.storage_version = version.value_or("");
    return file.VisitRevisions([&](const mvcc::RevisionRecord& record) -> Result<void> {
      ++found_.records;
      found_.revision = record.revision.main;
      return {};
    });
  }

  Result<void> ReadLog() {
    KV_TRY(const bool exists, wal::Exists(fs_, layout_.wal));
    if (!exists) {
      Problem("there is no log in " + layout_.wal);
      Lost("everything that the database does not have");
      return {};
    }
    raft::Index readable_to = 0;
    const auto log = SummarizeLog(fs_, layout_.wal, found_.applied, &readable_to);
    if (!log.has_value()) {
      Problem(log.error().message);
      found_.last_index = readable_to;
      Lost("the log's entries after " + Text(readable_to) + "; the database has those up to " +
           Text(found_.applied));
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
                             ", was cut off: a start removes it, and nobody was told that it "
                             "is durable");
    }
    KV_RETURN_IF_ERROR(ReadSnapshotFiles(*log));
    CheckFits(*log);
    return {};
  }

  Result<void> ReadSnapshotFiles(const LogSummary& log) {
    KV_TRY(const std::vector<std::string> names, fs_.List(layout_.snap));
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
      if (marked) found_.snapshot_index = std::max(found_.snapshot_index, file->index);
    }
    return {};
  }

  void CheckFits(const LogSummary& log) {
    const raft::Index from = found_.snapshot_index;
    if (log.first_index > from + 1) {
      Problem("the log begins with entry " + Text(log.first_index) +
              ", and the newest snapshot file that counts is of entry " + Text(from));
      Lost("the entries between them, unless the database has them");
    }
    if (!database_is_good_) return;
    const std::string received = ReceivedSnapshotPath(layout_.snap, from);
    if (found_.applied < from && !fs_.Exists(received).value_or(false)) {
      Problem("the database is at entry " + Text(found_.applied) +
              ", older than the log's snapshot at " + Text(from));
      Lost("the changes between them, as far as no other member has them");
    }
    if (found_.applied > found_.last_index && found_.applied > from) {
      Problem("the database is at entry " + Text(found_.applied) + ", but the log ends at " +
              Text(found_.last_index));
      Lost("log files: entries after " + Text(found_.last_index));
    }
    if (found_.owner == DatabaseOwner::kKvorum && log.unknown_entry.has_value())
      Problem("entry " + Text(*log.unknown_entry) + " of the log is of a kind that is not known");
  }

  FileSystem& fs_;
  const Layout layout_;
  const Duration timeout_;
  Verified found_;
  bool database_is_good_ = false;
};

}  // namespace

Result<Verified> Verify(FileSystem& fs, const std::string& data_dir, const std::string& wal_dir,
                        Duration timeout) {
  return Verification(fs, Layout(data_dir, wal_dir), timeout).Run();
}

}  // namespace kvorum::datadir
