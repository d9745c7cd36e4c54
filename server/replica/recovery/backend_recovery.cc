#include "server/replica/recovery/backend_recovery.h"

#include <filesystem>

#include "base/log/logging.h"
#include "datadir/snapshot_files.h"
#include "mvcc/index/index_file.h"

namespace kvorum::server {

std::string DatabasePath(const std::string& snap_dir) { return snap_dir + "/db"; }

Result<raft::Index> AppliedIndex(FileSystem& fs, const mvcc::BackendOpener& open,
                                 const std::string& snap_dir) {
  const std::string path = DatabasePath(snap_dir);
  KV_TRY(const bool has_database, fs.Exists(path));
  if (!has_database) return raft::Index{};
  KV_TRY(const auto backend, open(path));
  KV_TRY(const mvcc::Reader reader, backend->NewReader());
  KV_TRY(const mvcc::Store::Recovered content, mvcc::Store::ReadRecovered(*reader));
  return raft::Index{content.consistent_index};
}

Result<void> RemoveDatabaseNote(FileSystem& fs, const std::string& note) {
  if (note.empty()) return {};
  KV_TRY(const bool is_there, fs.Exists(note));
  if (!is_there) return {};
  KV_INFO("a snapshot replaces the database, and ends what was noted about it", {"file", note});
  KV_RETURN_IF_ERROR(fs.Remove(note));
  return fs.SyncDirectory(std::filesystem::path(note).parent_path().string());
}

Result<std::unique_ptr<mvcc::Backend>> OpenMemberBackend(FileSystem& fs,
                                                         const mvcc::BackendOpener& open,
                                                         const std::string& snap_dir,
                                                         const std::string& database_note,
                                                         raft::Index snapshot_index) {
  const std::string path = DatabasePath(snap_dir);
  KV_RETURN_IF_ERROR(datadir::RemoveReceivedSnapshots(fs, snap_dir, snapshot_index));
  const std::string received = datadir::ReceivedSnapshotPath(snap_dir, snapshot_index);
  KV_TRY(const bool is_waiting, fs.Exists(received));
  if (!is_waiting) return open(path);
  KV_TRY(const raft::Index applied, AppliedIndex(fs, open, snap_dir));
  if (applied < snapshot_index) {
    KV_INFO("Recovering from snapshot backend", {"consistent-index", applied},
            {"snapshot-index", snapshot_index}, {"path", received});
    KV_RETURN_IF_ERROR(mvcc::RemoveIndexFile(fs, path));
    KV_RETURN_IF_ERROR(RemoveDatabaseNote(fs, database_note));
    KV_RETURN_IF_ERROR(fs.Rename(received, path));
  } else {
    KV_RETURN_IF_ERROR(fs.Remove(received));
  }
  KV_RETURN_IF_ERROR(fs.SyncDirectory(snap_dir));
  return open(path);
}

}  // namespace kvorum::server
