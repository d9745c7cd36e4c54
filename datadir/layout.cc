#include "datadir/layout.h"

#include <array>
#include <bit>
#include <memory>

#include "bbolt/format.h"

namespace kvorum::datadir {

Layout::Layout(const std::string& data_dir, const std::string& wal_dir)
    : root(data_dir),
      member(data_dir + "/member"),
      wal(wal_dir.empty() ? member + "/wal" : wal_dir),
      snap(member + "/snap"),
      database(snap + "/db"),
      format(member + "/format"),
      lock(member + "/lock") {}

Result<DatabaseOwner> OwnerOfDatabase(FileSystem& fs, const std::string& path) {
  KV_TRY(const bool there, fs.Exists(path));
  if (!there) return DatabaseOwner::kNobody;
  KV_TRY(const auto file, fs.Open(path, FileSystem::OpenMode::kRead));
  const auto has_magic_at = [&](std::uint64_t page) -> Result<bool> {
    std::array<char, sizeof(std::uint32_t)> bytes{};
    KV_TRY(const std::size_t got,
           file->ReadAt(page + bbolt::kHeaderBytes, bytes.data(), bytes.size()));
    return got == bytes.size() && std::bit_cast<std::uint32_t>(bytes) == bbolt::kMagic;
  };
  KV_TRY(bool etcds, has_magic_at(0));
  // The first page may be the damaged one of the two.
  for (std::uint64_t size = bbolt::kMinPageSize; size <= bbolt::kMaxPageSize && !etcds; size *= 2) {
    KV_TRY(etcds, has_magic_at(size));
  }
  return etcds ? DatabaseOwner::kEtcd : DatabaseOwner::kKvorum;
}

Result<std::unique_ptr<FileLock>> LockMember(FileSystem& fs, const Layout& layout) {
  KV_TRY(const bool there, fs.Exists(layout.snap));
  if (!there) return Fail(Code::kNotFound, "there is no member in " + layout.root);
  auto lock = fs.Lock(layout.lock);
  if (!lock.has_value() && lock.error().code == Code::kFailedPrecondition) {
    return Fail(Code::kFailedPrecondition,
                "data directory " + layout.root + " is in use by another process");
  }
  return lock;
}

Result<void> RemoveIfThere(FileSystem& fs, const std::string& path) {
  KV_TRY(const bool there, fs.Exists(path));
  if (!there) return {};
  return fs.Remove(path);
}

Result<void> RemoveUnfinished(FileSystem& fs, const std::string& path) {
  for (const std::string& each : {path, path + ".part", path + ".part.tmp"}) {
    KV_RETURN_IF_ERROR(RemoveIfThere(fs, LmdbLockOf(each)));
    KV_RETURN_IF_ERROR(RemoveIfThere(fs, each));
  }
  return {};
}

Result<void> Exchange(FileSystem& fs, const std::string& made, const std::string& database,
                      const std::string& kept) {
  const std::string folder = ParentDirectory(database);
  KV_TRY(const bool there, fs.Exists(database));
  if (there) {
    KV_RETURN_IF_ERROR(RemoveIfThere(fs, LmdbLockOf(database)));
    KV_RETURN_IF_ERROR(fs.Rename(database, kept));
    KV_RETURN_IF_ERROR(fs.SyncDirectory(folder));
  }
  KV_RETURN_IF_ERROR(fs.Rename(made, database));
  return fs.SyncDirectory(folder);
}

}  // namespace kvorum::datadir
