#include "datadir/data_directory.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/log/logging.h"
#include "datadir/layout.h"

namespace kvorum::datadir {
namespace {

// A release that was cut off is finished before anything else: its database may be etcd's already.
Result<void> CheckNotReleased(FileSystem& fs, const DataDirectory& dir) {
  KV_TRY(const DatabaseOwner owner, OwnerOfDatabase(fs, dir.database));
  bool released = owner == DatabaseOwner::kEtcd;
  if (owner == DatabaseOwner::kNobody) {
    const Layout layout(dir.root, dir.wal);
    KV_TRY(const bool has_begun, HasReleaseBegun(fs, layout));
    KV_TRY(const bool is_made, fs.Exists(layout.Released()));
    released = has_begun && is_made;
  }
  if (!released) return {};
  return Fail(Code::kFailedPrecondition,
              "data directory " + dir.root +
                  " was being released to etcd; finish with kvorumutl release --data-dir " +
                  dir.root);
}

Result<void> CheckFormat(FileSystem& fs, const DataDirectory& dir, const std::string& path) {
  const Layout layout(dir.root, dir.wal);
  KV_TRY(const bool is_ours, IsOurs(fs, layout));
  if (is_ours) {
    KV_RETURN_IF_ERROR(CheckNotReleased(fs, dir));
    return RemoveLeftovers(fs, layout);
  }
  KV_TRY(const bool has_database, fs.Exists(dir.database));
  KV_TRY(const std::vector<std::string> wal_names, fs.List(dir.wal));
  bool has_wal = false;
  for (const std::string& name : wal_names) has_wal |= name.ends_with(".wal");
  if (has_database || has_wal) {
    return Fail(Code::kFailedPrecondition,
                "data directory " + dir.root +
                    " was written by another program (it has data but no " + path +
                    "); if that was etcd, start with --adopt-etcd-data, or run kvorumutl adopt "
                    "--data-dir " +
                    dir.root);
  }
  return WriteFileAtomically(fs, path, kFormat);
}

// A new member in its place would look like a restored one that has lost everything.
Result<void> RefuseUnfinishedRestore(FileSystem& fs, const std::string& data_dir,
                                     const std::string& member) {
  const std::string unfinished = data_dir + "/" + std::string(kUnfinishedRestore);
  KV_TRY(const bool is_unfinished, fs.Exists(unfinished));
  KV_TRY(const bool has_member, fs.Exists(member));
  if (!is_unfinished || has_member) return {};
  return Fail(Code::kFailedPrecondition,
              "data directory " + data_dir +
                  " holds a restore that did not finish; repeat kvorumutl snapshot restore, or "
                  "remove " +
                  unfinished);
}

}  // namespace

Result<DataDirectory> OpenDataDirectory(FileSystem& fs, const std::string& data_dir,
                                        const std::string& wal_dir) {
  const std::string member = data_dir + "/member";
  KV_RETURN_IF_ERROR(RefuseUnfinishedRestore(fs, data_dir, member));
  DataDirectory dir{.root = data_dir,
                    .wal = wal_dir.empty() ? member + "/wal" : wal_dir,
                    .snap = member + "/snap",
                    .database = member + "/snap/db",
                    .lock = nullptr};
  KV_RETURN_IF_ERROR(fs.MakeDirectories(dir.wal));
  KV_RETURN_IF_ERROR(fs.MakeDirectories(dir.snap));
  auto lock = fs.Lock(member + "/lock");
  if (!lock.has_value()) {
    if (lock.error().code != Code::kFailedPrecondition) return std::unexpected(lock.error());
    return Fail(Code::kFailedPrecondition,
                "data directory " + data_dir + " is in use by another process");
  }
  dir.lock = *std::move(lock);
  KV_RETURN_IF_ERROR(CheckFormat(fs, dir, member + "/format"));
  // A new directory's name is durable once its parent is synced.
  const std::string parent = std::filesystem::path(data_dir).parent_path().string();
  for (const std::string& folder :
       {dir.wal, dir.snap, member, data_dir, parent.empty() ? std::string(".") : parent}) {
    KV_RETURN_IF_ERROR(fs.SyncDirectory(folder));
  }
  if (!wal_dir.empty()) {
    // Left by a restore that ended right after its last step.
    const std::string mark = UnfinishedLogMark(wal_dir);
    KV_TRY(const bool is_marked, fs.Exists(mark));
    if (is_marked) KV_RETURN_IF_ERROR(fs.Remove(mark));
    const std::string wal_parent = std::filesystem::path(wal_dir).parent_path().string();
    KV_RETURN_IF_ERROR(fs.SyncDirectory(wal_parent.empty() ? "." : wal_parent));
  }
  return dir;
}

Result<void> EnforcePrivate(const std::string& dir) {
  struct stat info{};
  if (stat(dir.c_str(), &info) != 0) return {};
  if (!S_ISDIR(info.st_mode)) return Fail(Code::kFailedPrecondition, dir + " is not a directory");
  if ((info.st_mode & 0077) == 0) return {};
  if (chmod(dir.c_str(), 0700) != 0) {
    return Fail(Code::kFailedPrecondition,
                "directory " + dir + " is open to others and not ours to change: chmod 700 " + dir);
  }
  KV_WARN("took others' access to a directory away", {"path", dir});
  return {};
}

}  // namespace kvorum::datadir
