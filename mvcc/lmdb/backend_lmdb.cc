// The backend over LMDB. Facts of LMDB 0.9.24 that the code relies on:
// - A commit writes its pages, syncs, then writes one of two meta pages through a synchronous
//   descriptor. So a cut-off commit leaves the previous state, and ok means durable.
// - The map is read-only: a wild pointer of ours cannot reach the file.
// - A read of a page that the disk cannot deliver raises SIGBUS. CheckLmdbFile refuses truncated
//   files; for a medium that fails at run time the server's signal handler names the cause and ends
//   the process.
// - Changing the map's size requires every read transaction to have ended
//   (LmdbEnvironment::GrowMap). So the map is as large as the file can become.
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/check.h"
#include "base/failpoint/failpoint.h"
#include "base/file_system.h"
#include "base/text/human_bytes.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/backend_lmdb_check.h"
#include "mvcc/lmdb/backend_lmdb_defragment.h"
#include "mvcc/lmdb/backend_lmdb_environment.h"
#include "mvcc/lmdb/backend_lmdb_format.h"
#include "mvcc/lmdb/backend_lmdb_write.h"
#include "mvcc/records/file_release.h"

namespace kvorum::mvcc {
namespace {

using lmdb_format::TreeKey;

constexpr std::uint64_t kMinMapBytes = std::uint64_t{16} << 30;
// Several maps fit into a process's address space.
constexpr std::uint64_t kMostDiskBytes = std::uint64_t{4} << 40;

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}
// 0 if it is not known.
std::uint64_t DiskBytes(const std::string& folder) {
  struct statvfs status;
  if (::statvfs(folder.c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_blocks} * status.f_frsize;
}
// The name of an unfinished database; a file with it at a start is a leftover.
std::string UnfinishedPath(const std::string& path) { return path + ".tmp"; }
std::string LmdbLockPath(const std::string& path) { return path + "-lock"; }

Result<void> RemoveFileIfThere(const std::string& path) {
  KV_TRY(const bool there, PosixFileSystem().Exists(path));
  if (!there) return {};
  return PosixFileSystem().Remove(path);
}

Result<void> RemoveUnfinished(const std::string& path) {
  KV_RETURN_IF_ERROR(RemoveFileIfThere(UnfinishedPath(path)));
  return RemoveFileIfThere(LmdbLockPath(UnfinishedPath(path)));
}

// Writes go on while a copy is made, and must not meet a disk that it has filled. A file system
// that does not report its free space sets no limit.
Result<void> CheckRoomForCopy(const std::string& path, std::uint64_t needed_bytes) {
  constexpr std::uint64_t kSpareBytes = std::uint64_t{16} << 20;
  struct statvfs status;
  if (::statvfs(FolderOf(path).c_str(), &status) != 0) return {};
  const std::uint64_t free_bytes = std::uint64_t{status.f_bavail} * status.f_frsize;
  if (free_bytes >= needed_bytes + kSpareBytes) return {};
  return Fail(Code::kResourceExhausted, "mvcc: no room for a copy of " + path + ": it takes " +
                                            HumanBytes(needed_bytes) + " and some to spare, and " +
                                            HumanBytes(free_bytes) + " are free");
}

// Gives a finished, synced database its name. LMDB's lock file is renamed first: it holds nothing
// between runs, so a crash between the two renames does no harm. The environment stays open across
// this, since LMDB would take a second opening in one process for the only one and reset the lock
// file under the first. `renamed` is set when the names may have changed, error or not.
Result<void> PutIntoPlace(LmdbEnvironment& environment, const std::string& path, bool* renamed) {
  FileSystem& files = PosixFileSystem();
  KV_RETURN_IF_ERROR(files.Rename(LmdbLockPath(environment.path()), LmdbLockPath(path)));
  KV_FAILPOINT("backendBetweenRenames");
  KV_RETURN_IF_ERROR(files.Rename(environment.path(), path));
  *renamed = true;
  environment.Renamed(path);
  KV_FAILPOINT("backendBeforeDirectorySync");
  return files.SyncDirectory(FolderOf(path));
}

class LmdbBackend final : public Backend {
 public:
  explicit LmdbBackend(LmdbOptions options) : options_(std::move(options)) {}

  Result<void> Open();

  Result<void> TakePlace(const std::string& path) override;
  Result<void> Commit(const WriteBatch& batch) override;
  Result<void> Sync() override;
  Result<Reader> OpenReader(ReaderPlace place) override;
  std::uint64_t SizeBytes() const override { return size_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t SizeInUseBytes() const override {
    return size_in_use_bytes_.load(std::memory_order_relaxed);
  }
  Result<std::unique_ptr<DefragmentCopy>> StartDefragment() override;
  std::expected<void, DefragmentError> FinishDefragment(
      std::unique_ptr<DefragmentCopy> copy) override;

 private:
  Result<void> OpenExisting(LmdbFileLock lock);
  Result<void> Create();
  LmdbEnvironment::Options EnvironmentOptions(std::string path,
                                              std::uint64_t file_size_bytes) const;
  // Returns LMDB's code; the transaction is committed or nothing of it happened.
  int TryCommit(const WriteBatch& batch);
  Result<LmdbSnapshot*> TakeSnapshot(ReaderPlace place);
  std::unexpected<Error> CommitFailed(int code);
  Result<void> RefreshSizes();
  void CloseRetired();

  LmdbOptions options_;
  // Set by the first failed commit: the state on disk is then unknown.
  std::optional<Error> failed_;

  std::mutex readers_mutex_;  // guards the snapshot pools and which environment is the current one
  std::unique_ptr<LmdbEnvironment> current_;
  // Replaced by a defragmentation and still read; closed by a later commit, not by the last reader,
  // whose thread should not pay for it.
  std::vector<std::unique_ptr<LmdbEnvironment>> retired_;
  FileRelease release_;  // of their files

  std::weak_ptr<ChangeLog> change_log_;  // of the copy in the making
  std::atomic<std::uint64_t> size_bytes_{0};
  std::atomic<std::uint64_t> size_in_use_bytes_{0};
};

LmdbEnvironment::Options LmdbBackend::EnvironmentOptions(std::string path,
                                                         std::uint64_t file_size_bytes) const {
  // A map that grows waits for readers. The file cannot outgrow the disk, unless that grows.
  const std::uint64_t disk_bytes = std::min(DiskBytes(FolderOf(path)), kMostDiskBytes);
  const std::uint64_t map_size_bytes =
      std::max({kMinMapBytes, 4 * options_.quota_bytes, 2 * file_size_bytes, 2 * disk_bytes});
  return {.path = std::move(path),
          .map_size_bytes = options_.map_size_bytes != 0 ? options_.map_size_bytes : map_size_bytes,
          .max_readers = options_.max_readers,
          .readers = options_.readers,
          .sync = options_.sync,
          .read_only = options_.read_only};
}

Result<void> LmdbBackend::Open() {
  Result<LmdbFileLock> lock = options_.read_only ? LmdbFileLock::OpenShared(options_.path)
                                                 : LmdbFileLock::Open(options_.path);
  if (lock.has_value()) {
    KV_RETURN_IF_ERROR(OpenExisting(*std::move(lock)));
  } else if (lock.error().code == Code::kNotFound && !options_.must_exist && !options_.read_only) {
    KV_RETURN_IF_ERROR(Create());
  } else {
    return Fail(lock.error());
  }
  return RefreshSizes();
}

Result<void> LmdbBackend::OpenExisting(LmdbFileLock lock) {
  KV_RETURN_IF_ERROR(CheckLmdbFile(lock.fd(), options_.path, options_.check));
  if (!options_.read_only) KV_RETURN_IF_ERROR(RemoveUnfinished(options_.path));
  struct stat status;
  if (::fstat(lock.fd(), &status) != 0) return Fail(LmdbError(errno, "stat", options_.path));
  KV_TRY(current_,
         LmdbEnvironment::Open(
             EnvironmentOptions(options_.path, static_cast<std::uint64_t>(status.st_size)),
             std::move(lock), readers_mutex_));
  return current_->CheckFormat();
}

Result<void> LmdbBackend::Create() {
  KV_RETURN_IF_ERROR(RemoveUnfinished(options_.path));
  const std::string unfinished = UnfinishedPath(options_.path);
  KV_TRY(LmdbFileLock lock, LmdbFileLock::Create(unfinished));
  KV_TRY(current_,
         LmdbEnvironment::Open(EnvironmentOptions(unfinished, 0), std::move(lock), readers_mutex_));
  KV_RETURN_IF_ERROR(current_->WriteFormat());
  bool renamed = false;
  return PutIntoPlace(*current_, options_.path, &renamed);
}

Result<void> LmdbBackend::TakePlace(const std::string& path) {
  bool renamed = false;
  const Result<void> placed = PutIntoPlace(*current_, path, &renamed);
  if (renamed) options_.path = path;
  if (!placed.has_value()) failed_ = placed.error();
  return placed;
}

int LmdbBackend::TryCommit(const WriteBatch& batch) {
  KV_FAILPOINT("beforeStartDBTxn");
  LmdbWrite write;
  int code = write.Begin(*current_);
  KV_FAILPOINT("afterStartDBTxn");
  for (const std::span<const RevisionRecord> records : batch.appends) {
    for (const RevisionRecord& record : records) {
      if (code != 0) return code;
      const RevisionKey key(record.revision, record.tombstone);
      code = write.Append(TreeKey(Bucket::kKey, key.view()).view(), record.value);
      KV_CHECK(code != MDB_KEYEXIST, "a revision was committed out of order");
    }
  }
  for (const Revision revision : batch.deletions) {
    if (code != 0) return code;
    code = write.RemoveRevision(revision);
  }
  for (const auto& [key, value] : batch.changes.map()) {
    if (code != 0) return code;
    const TreeKey tree_key(key.bucket, key.key);
    code = value.has_value() ? write.Put(tree_key.view(), *value) : write.Remove(tree_key.view());
  }
  if (code != 0) return code;
  KV_FAILPOINT("beforeCommit");
  code = write.Commit();
  KV_FAILPOINT("afterCommit");
  return code;
}

Result<void> LmdbBackend::Commit(const WriteBatch& batch) {
  if (failed_.has_value()) return Fail(*failed_);
  CloseRetired();
  int code = TryCommit(batch);
  while (code == MDB_MAP_FULL) {
    // Without the address space for it nothing was changed, as with a full disk.
    KV_RETURN_IF_ERROR(current_->GrowMap());
    code = TryCommit(batch);
  }
  if (code != 0) return CommitFailed(code);
  if (const auto log = change_log_.lock()) log->Record(batch);
  // The commit is durable, whether or not the sizes can be read.
  static_cast<void>(RefreshSizes());
  return {};
}

Result<void> LmdbBackend::Sync() {
  if (failed_.has_value()) return Fail(*failed_);
  const Result<void> synced = current_->SyncEachCommitFromNow();
  if (!synced.has_value()) failed_ = synced.error();
  return synced;
}

// A write that found no room ends the transaction before its meta page: the previous state is
// intact, and a retry writes each of its pages again. After a failed sync, its data may be lost for
// good; after a meta page that found no room, as a file system that copies on write may have it,
// LMDB does nothing more.
std::unexpected<Error> LmdbBackend::CommitFailed(int code) {
  Error error = LmdbError(code, "commit to", current_->path());
  const bool is_full = error.code == Code::kResourceExhausted;
  if (is_full && !current_->SyncHasFailed() && !current_->HasEnded()) return Fail(std::move(error));
  if (is_full) error.code = Code::kDataLoss;
  failed_ = std::move(error);
  return Fail(*failed_);
}

Result<LmdbSnapshot*> LmdbBackend::TakeSnapshot(ReaderPlace place) {
  std::unique_lock lock(readers_mutex_);
  return current_->TakeSnapshot(lock, place);
}

Result<Reader> LmdbBackend::OpenReader(ReaderPlace place) {
  KV_TRY(LmdbSnapshot * snapshot, TakeSnapshot(place));
  return Reader(snapshot);
}

Result<void> LmdbBackend::RefreshSizes() {
  KV_TRY(const LmdbEnvironment::Sizes sizes, current_->ReadSizes());
  size_bytes_.store(sizes.allocated_bytes, std::memory_order_relaxed);
  size_in_use_bytes_.store(sizes.in_use_bytes, std::memory_order_relaxed);
  return {};
}

void LmdbBackend::CloseRetired() {
  std::vector<std::unique_ptr<LmdbEnvironment>> closed;
  {
    std::lock_guard lock(readers_mutex_);
    for (auto& environment : retired_) {
      if (environment->idle()) closed.push_back(std::move(environment));
    }
    std::erase(retired_, nullptr);
  }
  for (auto& environment : closed) {
    const int file = environment->DuplicateFile();
    environment.reset();
    if (file >= 0) release_.Add(file);
  }
}

Result<std::unique_ptr<DefragmentCopy>> LmdbBackend::StartDefragment() {
  if (failed_.has_value()) return Fail(*failed_);
  if (options_.read_only)
    return Fail(Code::kPermissionDenied, "mvcc: " + options_.path + " is open for reading only");
  if (!change_log_.expired()) {
    return Fail(Code::kFailedPrecondition, "mvcc: a defragmentation is running already");
  }
  KV_FAILPOINT_RETURN("defragOpenFileError", text) { return Fail(Code::kUnknown, text); }
  KV_RETURN_IF_ERROR(CheckRoomForCopy(options_.path, SizeInUseBytes()));
  const std::string unfinished = UnfinishedPath(options_.path);
  KV_RETURN_IF_ERROR(RemoveUnfinished(options_.path));
  KV_TRY(LmdbFileLock lock, LmdbFileLock::Create(unfinished));
  LmdbEnvironment::Options target_options = EnvironmentOptions(unfinished, 0);
  target_options.map_size_bytes = current_->map_size_bytes();
  target_options.sync = CommitSync::kByHand;
  KV_TRY(std::unique_ptr<LmdbEnvironment> target,
         LmdbEnvironment::Open(std::move(target_options), std::move(lock), readers_mutex_));
  auto log = std::make_shared<ChangeLog>();
  change_log_ = log;
  return std::make_unique<LmdbDefragmentCopy>(
      std::move(target), std::move(log), [this] { return TakeSnapshot(ReaderPlace::kShared); });
}

std::expected<void, Backend::DefragmentError> LmdbBackend::FinishDefragment(
    std::unique_ptr<DefragmentCopy> copy) {
  auto& lmdb_copy = static_cast<LmdbDefragmentCopy&>(*copy);
  if (failed_.has_value()) return std::unexpected(DefragmentError{*failed_, true});
  if (Result<void> done = lmdb_copy.CatchUp(); !done.has_value()) {
    return std::unexpected(DefragmentError{done.error(), false});
  }
  KV_FAILPOINT("defragBeforeRename");
  bool renamed = false;
  Result<void> placed = PutIntoPlace(lmdb_copy.target(), options_.path, &renamed);
  if (!renamed) return std::unexpected(DefragmentError{placed.error(), false});
  std::unique_ptr<LmdbEnvironment> replaced = lmdb_copy.TakeTarget();
  {
    std::lock_guard lock(readers_mutex_);
    std::swap(current_, replaced);
    retired_.push_back(std::move(replaced));
  }
  // Without the directory's sync a power cut may bring the old file back, less what is committed
  // from now on.
  static_cast<void>(RefreshSizes());
  if (!placed.has_value()) {
    failed_ = placed.error();
    return std::unexpected(DefragmentError{placed.error(), true});
  }
  CloseRetired();
  return {};
}

}  // namespace

Result<std::unique_ptr<Backend>> OpenLmdbBackend(const LmdbOptions& options) {
  auto backend = std::make_unique<LmdbBackend>(options);
  KV_RETURN_IF_ERROR(backend->Open());
  return backend;
}

}  // namespace kvorum::mvcc
