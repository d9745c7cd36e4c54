#include "datadir/adopt.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "api/entries/conf_state_json.h"
#include "api/member.h"
#include "api/version.h"
#include "base/log/logging.h"
#include "bbolt/reader.h"
#include "datadir/content_check.h"
#include "datadir/layout.h"
#include "datadir/log_summary.h"
#include "datadir/snapshot_files.h"
#include "mvcc/records/bucket.h"
#include "mvcc/store/store.h"
#include "mvcc/transfer/etcd_import.h"
#include "mvcc/transfer/snapshot_content.h"

namespace kvorum::datadir {
namespace {

// These are used before the records are checked in order.
Result<void> CheckEtcdMeta(const mvcc::EtcdMeta& meta) {
  ContentCheck check;
  for (const auto& [key, value] :
       {std::pair(mvcc::meta_key::kConfState, &meta.conf_state),
        std::pair(mvcc::meta_key::kStorageVersion, &meta.storage_version)})
    if (!value->empty()) KV_RETURN_IF_ERROR(check.AddSmall(mvcc::Bucket::kMeta, key, *value));
  return {};
}

// Newer files may hold what is not known here.
Result<void> CheckStorageVersion(const mvcc::EtcdMeta& meta) {
  if (meta.storage_version.empty()) return {};
  unsigned major = 0;
  unsigned minor = 0;
  if (std::sscanf(meta.storage_version.c_str(), "%u.%u.", &major, &minor) == 2 && major == 3 &&
      minor <= 7)
    return {};
  return Fail(Code::kFailedPrecondition, "the database has storage version " +
                                             meta.storage_version + "; this program takes up to " +
                                             std::string(server::kStorageVersion));
}

// Raft's configuration out of the members' bucket, as etcd itself makes it at a start.
Result<std::string> ConfStateOfMembers(bbolt::Reader& file) {
  KV_TRY(const auto bucket, file.FindBucket(BucketName(mvcc::Bucket::kMembers)));
  raft::ConfState state;
  if (bucket.has_value()) {
    bbolt::Cursor cursor = file.NewCursor(*bucket);
    KV_TRY(bool found, cursor.First());
    while (found) {
      KV_RETURN_IF_ERROR(
          ContentCheck().AddSmall(mvcc::Bucket::kMembers, cursor.key(), cursor.value()));
      KV_TRY(const server::Member member, server::DecodeMemberJson(cursor.value()));
      (member.is_learner ? state.learners : state.voters).push_back(member.id);
      KV_TRY(found, cursor.Next());
    }
  }
  return server::EncodeConfStateJson(state);
}

class Adoption {
 public:
  Adoption(FileSystem& fs, const AdoptOptions& options)
      : fs_(fs), options_(options), layout_(options.data_dir, options.wal_dir) {}

  Result<Adopted> Run() {
    KV_TRY(const MemberLock lock, MemberLock::Take(fs_, layout_));
    KV_TRY(const bool is_ours, IsOurs(fs_, layout_));
    if (is_ours) {
      result_.was_ours = true;
      return Finish();
    }
    KV_TRY(const DatabaseOwner owner, OwnerOfDatabase(fs_, layout_.database));
    switch (owner) {
      case DatabaseOwner::kEtcd:
        KV_RETURN_IF_ERROR(ConvertLocked());
        break;
      case DatabaseOwner::kNobody:
        KV_RETURN_IF_ERROR(GoOnAfterCrash());
        break;
      case DatabaseOwner::kKvorum:
        break;  // after a crash, too
      case DatabaseOwner::kUnknown:
        return NotEtcds();
    }
    if (owner != DatabaseOwner::kEtcd) KV_RETURN_IF_ERROR(CheckConverted());
    KV_RETURN_IF_ERROR(WriteFileAtomically(fs_, layout_.format, kFormat));
    return Finish();
  }

 private:
  std::unexpected<Error> NotEtcds() const {
    return Fail(Code::kDataLoss, layout_.database + " is not an etcd database");
  }

  // The exchange was cut off between its two renames.
  Result<void> GoOnAfterCrash() {
    KV_TRY(const bool converted, fs_.Exists(layout_.Adopted()));
    if (!converted) {
      return Fail(Code::kNotFound, "there is no database in " + layout_.snap);
    }
    return Exchange(fs_, layout_.Adopted(), layout_.database, layout_.KeptOfEtcd());
  }

  // The database is ours only if an exchange put it there, and what an earlier adoption kept does
  // not show that: it has to be the log's, too.
  Result<void> CheckConverted() {
    KV_TRY(const bool is_kept, fs_.Exists(layout_.KeptOfEtcd()));
    if (!is_kept) return NotEtcds();
    KV_TRY(const mvcc::Store::Recovered recovered, ReadOurs());
    const raft::Index applied{recovered.consistent_index};
    KV_TRY(const LogSummary log, SummarizeLog(fs_, layout_.wal, applied));
    return CheckFits(log, applied);
  }

  Result<mvcc::Store::Recovered> ReadOurs() {
    // Opening would make one.
    KV_TRY(const bool there, fs_.Exists(layout_.database));
    if (!there) return Fail(Code::kNotFound, "there is no database in " + layout_.snap);
    KV_TRY(const auto backend, options_.open(layout_.database));
    KV_TRY(const mvcc::Reader reader, backend->NewReader());
    is_read_ = true;
    return mvcc::Store::ReadRecovered(*reader);
  }

  // Holds the lock that etcd has on its database while it runs.
  Result<void> ConvertLocked() {
    KV_RETURN_IF_ERROR(LockEtcds());
    KV_TRY(const std::string newest, NewestDatabase());
    const Result<void> converted = Convert(newest);
    if (!converted.has_value()) {
      static_cast<void>(RemoveUnfinished(fs_, layout_.Adopted()));
      return converted;
    }
    if (newest != layout_.database) KV_RETURN_IF_ERROR(TakeReceivedSnapshot(newest));
    return Exchange(fs_, layout_.Adopted(), layout_.database, layout_.KeptOfEtcd());
  }

  // The lock is of the file and not of its name.
  Result<void> LockEtcds() {
    auto lock = fs_.Lock(layout_.database);
    if (lock.has_value()) {
      etcds_lock_ = *std::move(lock);
      return {};
    }
    if (lock.error().code != Code::kFailedPrecondition) return Fail(lock.error());
    return Fail(Code::kFailedPrecondition, "etcd has " + layout_.database + " open: stop it first");
  }

  // The path of etcd's newest state: a snapshot of the leader's may have arrived that had not
  // become the database when etcd ended.
  Result<std::string> NewestDatabase() {
    KV_TRY(const auto names, fs_.List(layout_.snap));
    // Mostly there is none, and the log need not be read for it.
    if (std::ranges::none_of(names,
                             [](const std::string& name) { return name.ends_with(".snap.db"); }))
      return layout_.database;
    KV_TRY(const auto markers, wal::ListMarkers(fs_, layout_.wal));
    if (markers.empty()) return layout_.database;
    std::string received = ReceivedSnapshotPath(layout_.snap, markers.back().index);
    KV_TRY(const bool waits, fs_.Exists(received));
    if (!waits) return layout_.database;
    KV_TRY(const auto file, bbolt::Reader::Open(fs_, layout_.database));
    KV_TRY(const mvcc::EtcdMeta meta, mvcc::ReadEtcdMeta(*file));
    if (meta.consistent_index >= markers.back().index.value()) return layout_.database;
    return received;
  }

  // It becomes the database, as at a start of etcd's, when it is known to be whole: until then
  // nothing has changed.
  Result<void> TakeReceivedSnapshot(const std::string& received) {
    KV_INFO("a received snapshot becomes the database", {"path", received});
    KV_RETURN_IF_ERROR(fs_.Rename(received, layout_.database));
    KV_RETURN_IF_ERROR(fs_.SyncDirectory(layout_.snap));
    return LockEtcds();  // that file's own
  }

  Result<void> Convert(const std::string& path) {
    auto converted = ConvertContent(path);
    if (converted.has_value() || path == layout_.database) return converted;
    // The database beside it may be whole.
    return Fail(converted.error().code, path + ": " + converted.error().message);
  }

  Result<void> ConvertContent(const std::string& path) {
    KV_TRY(const auto file, bbolt::Reader::Open(fs_, path));
    KV_TRY(mvcc::EtcdMeta meta, mvcc::ReadEtcdMeta(*file));
    KV_RETURN_IF_ERROR(CheckEtcdMeta(meta));
    KV_RETURN_IF_ERROR(CheckStorageVersion(meta));
    KV_TRY(std::string of_members, ConfStateOfMembers(*file));
    const bool is_3_5 = !meta.conf_state.empty();  // or later
    if (!is_3_5) meta.conf_state = std::move(of_members);
    Tell(options_.on_progress, kReadingLog);
    KV_TRY(const LogSummary log,
           SummarizeLog(fs_, layout_.wal, raft::Index{meta.consistent_index}));
    KV_RETURN_IF_ERROR(CheckFits(log, raft::Index{meta.consistent_index}));
    if (const auto entry =
            log.unknown_entry.has_value() || !is_3_5 ? log.unknown_entry : log.first_of_version_2;
        entry.has_value())
      return OnlyForEtcd(*entry);
    KV_RETURN_IF_ERROR(file->Check([&](std::uint64_t checked) {
      Tell(options_.on_progress, kChecking, checked, file->SizeBytes());
    }));
    meta.consistent_index = log.skippable_to.value();
    // The database's own is missing before 3.5, and may be older than that of what is skipped.
    if (log.skippable_to_term != raft::Term{}) meta.term = log.skippable_to_term.value();
    meta.storage_version = server::kStorageVersion;
    result_.member = log.metadata.node_id;
    result_.cluster = log.metadata.cluster_id;
    result_.applied = log.skippable_to;
    result_.last_index = log.last_index;
    KV_RETURN_IF_ERROR(Import(*file, meta));
    // Last: etcd does not start from a snapshot file without content.
    return ProvideSnapshotFile(log, meta);
  }

  static Result<void> CheckFits(const LogSummary& log, raft::Index applied) {
    const raft::Index marked = log.markers.empty() ? raft::Index{} : log.markers.back().index;
    if (applied < marked || applied > std::max(log.last_index, marked)) {
      return Fail(Code::kDataLoss,
                  "log and database do not belong together: the database is at log index " +
                      std::to_string(applied.value()) + ", the log has a snapshot at " +
                      std::to_string(marked.value()) + " and ends at " +
                      std::to_string(log.last_index.value()));
    }
    return {};
  }

  static std::unexpected<Error> OnlyForEtcd(raft::Index entry) {
    return Fail(Code::kFailedPrecondition,
                "entry " + std::to_string(entry.value()) +
                    " of the log is of a kind that only etcd can apply, and it is not in the "
                    "database yet: start etcd once more, write a key, and stop it in order");
  }

  // The start begins at a snapshot file that the log has a marker of; the newest may be damaged.
  Result<void> ProvideSnapshotFile(const LogSummary& log, const mvcc::EtcdMeta& meta) {
    if (log.markers.empty() || log.markers.back().index == raft::Index{}) return {};
    const wal::SnapshotMarker& newest = log.markers.back();
    KV_TRY(const auto loaded,
           LoadNewestSnapshotFile(fs_, layout_.snap, [&](const raft::SnapshotMetadata& metadata) {
             return metadata.index == newest.index && metadata.term == newest.term;
           }));
    if (loaded.has_value()) return {};
    KV_TRY(const raft::ConfState at_database, server::DecodeConfStateJson(meta.conf_state));
    return SaveSnapshotFile(fs_, layout_.snap,
                            {.conf_state = newest.conf_state.value_or(at_database),
                             .index = newest.index,
                             .term = newest.term});
  }

  Result<void> Import(bbolt::Reader& file, const mvcc::EtcdMeta& meta) {
    KV_RETURN_IF_ERROR(RemoveUnfinished(fs_, layout_.Adopted()));
    const std::string unfinished = layout_.Adopted() + ".part";
    const std::uint64_t total = file.SizeBytes();
    {
      KV_TRY(const auto backend, options_.open(unfinished));
      ContentCheck content;
      const mvcc::EtcdImport import{
          .meta = meta,
          .on_progress = [&](std::uint64_t, std::uint64_t bytes) -> Result<void> {
            Tell(options_.on_progress, kCopying, std::min(bytes, total), total);
            return {};
          },
          .check = [&](mvcc::Bucket bucket, std::string_view key,
                       std::string_view value) { return content.AddSmall(bucket, key, value); }};
      KV_TRY(const auto read, mvcc::ImportEtcdContent(file, import, *backend));
      KV_RETURN_IF_ERROR(content.CheckWhole());
      Tell(options_.on_progress, kCopying, total, total);
      KV_RETURN_IF_ERROR(backend->Sync());
      Tell(options_.on_progress, kComparing);
      KV_TRY(const mvcc::Reader reader, backend->NewReader());
      KV_TRY(const auto built, mvcc::ComputeSnapshotTotals(*reader));
      if (built != read) {
        return Fail(Code::kDataLoss,
                    unfinished + " differs from the database that it was made from");
      }
      result_.records = read.records;
      is_read_ = true;
    }
    KV_RETURN_IF_ERROR(RemoveIfThere(fs_, LmdbLockOf(unfinished)));
    KV_RETURN_IF_ERROR(fs_.Rename(unfinished, layout_.Adopted()));
    return fs_.SyncDirectory(layout_.snap);
  }

  Result<Adopted> Finish() {
    KV_RETURN_IF_ERROR(RemoveLeftovers(fs_, layout_));
    KV_TRY(const bool is_kept, fs_.Exists(layout_.KeptOfEtcd()));
    if (options_.drop_old) {
      if (!is_read_) KV_RETURN_IF_ERROR(ReadOurs());
      KV_RETURN_IF_ERROR(DropKept(fs_, layout_));
    } else if (is_kept) {
      result_.kept = layout_.KeptOfEtcd();
    }
    return std::move(result_);
  }

  FileSystem& fs_;
  const AdoptOptions& options_;
  const Layout layout_;
  std::unique_ptr<FileLock> etcds_lock_;
  bool is_read_ = false;  // our database, in this run
  Adopted result_;
};

}  // namespace

Result<Adopted> Adopt(FileSystem& fs, const AdoptOptions& options) {
  return Adoption(fs, options).Run();
}

}  // namespace kvorum::datadir
