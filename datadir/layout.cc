#include "datadir/layout.h"

#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "bbolt/format.h"
#include "bbolt/meta.h"
#include "mvcc/index/index_file.h"
#include "mvcc/lmdb/backend_lmdb_pages.h"

namespace kvorum::datadir {
namespace {

// Both kinds of files begin with a page whose header is as long; then comes the magic.
constexpr std::size_t kMagicAt = bbolt::kHeaderBytes;

constexpr std::uint64_t kFormatLimitBytes = 4096;

// The content of the mark.
constexpr std::string_view kReleasing = "kvorum release 1\n";

std::array<std::string, 3> NamesInTheMaking(const std::string& path) {
  return {path, path + ".part", path + ".part.tmp"};
}

}  // namespace

Layout::Layout(const std::string& data_dir, const std::string& wal_dir)
    : root(data_dir),
      member(data_dir + "/member"),
      wal(wal_dir.empty() ? member + "/wal" : wal_dir),
      snap(member + "/snap"),
      database(snap + "/db"),
      format(member + "/format"),
      lock(member + "/lock"),
      incarnation(member + "/incarnation") {}

Result<DatabaseOwner> OwnerOfDatabase(FileSystem& fs, const std::string& path) {
  KV_TRY(const bool there, fs.Exists(path));
  if (!there) return DatabaseOwner::kNobody;
  KV_TRY(const auto file, fs.Open(path, FileSystem::OpenMode::kRead));
  std::array<char, bbolt::kHeaderBytes + bbolt::kMetaBytes> bytes{};
  KV_TRY(const std::size_t got, file->ReadAt(0, bytes.data(), bytes.size()));
  if (got < bytes.size()) return DatabaseOwner::kUnknown;
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes.data() + kMagicAt, sizeof(magic));
  if (magic == bbolt::kMagic) return DatabaseOwner::kEtcd;
  // Behind the first page there may be any bytes of clients' values.
  if (magic == mvcc::lmdb_pages::kMagic) return DatabaseOwner::kKvorum;
  // The first page may be the damaged one of the two.
  for (std::uint64_t size = bbolt::kMinPageSize; size <= bbolt::kMaxPageSize; size *= 2) {
    KV_TRY(const std::size_t more, file->ReadAt(size, bytes.data(), bytes.size()));
    const auto meta = bbolt::DecodeMetaPage(1, std::string_view(bytes.data(), more));
    if (meta.has_value() && meta->page_size == size) return DatabaseOwner::kEtcd;
  }
  return DatabaseOwner::kUnknown;
}

Result<bool> IsOurs(FileSystem& fs, const Layout& layout) {
  KV_TRY(const bool marked, fs.Exists(layout.format));
  if (!marked) return false;
  KV_TRY(const std::string format, ReadWholeFile(fs, layout.format, kFormatLimitBytes));
  if (format == kFormat) return true;
  return Fail(Code::kFailedPrecondition,
              "data directory " + layout.root + " has a layout that this version does not know (" +
                  layout.format + " says \"" + format.substr(0, format.find('\n')) +
                  "\"); use the version that wrote it");
}

Result<bool> HasReleaseBegun(FileSystem& fs, const Layout& layout) {
  KV_TRY(const bool there, fs.Exists(layout.Releasing()));
  if (!there) return false;
  // A file that cannot be read, or is larger, is not a mark.
  const auto mark = ReadWholeFile(fs, layout.Releasing(), kFormatLimitBytes);
  return mark.has_value() && *mark == kReleasing;
}

Result<void> BeginRelease(FileSystem& fs, const Layout& layout) {
  KV_TRY(const bool has_begun, HasReleaseBegun(fs, layout));
  if (has_begun) return RemoveUnfinished(fs, layout.Released());
  const auto names = NamesInTheMaking(layout.Released());
  std::vector<std::string> taken(names.begin(), names.end());
  taken.push_back(layout.Releasing());
  for (const std::string& name : taken) {
    KV_TRY(const bool there, fs.Exists(name));
    if (there) {
      return Fail(Code::kFailedPrecondition,
                  name + " is in the way, and no release has made it: move it somewhere else");
    }
  }
  return WriteFileAtomically(fs, layout.Releasing(), kReleasing);
}

Result<void> EndRelease(FileSystem& fs, const Layout& layout) {
  KV_TRY(const bool has_begun, HasReleaseBegun(fs, layout));
  if (!has_begun) return {};
  KV_RETURN_IF_ERROR(RemoveUnfinished(fs, layout.Released()));
  // A power cut must not bring them back without the mark.
  KV_RETURN_IF_ERROR(fs.SyncDirectory(layout.snap));
  return fs.Remove(layout.Releasing());
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

Result<MemberLock> MemberLock::Take(FileSystem& fs, const Layout& layout) {
  KV_TRY(auto lock, LockMember(fs, layout));
  return MemberLock(fs, layout, std::move(lock));
}

MemberLock::~MemberLock() {
  if (lock_ == nullptr) return;
  // Before the lock ends: the next holder locks another file.
  if (!fs_.Exists(layout_.format).value_or(true))
    static_cast<void>(RemoveIfThere(fs_, layout_.lock));
}

Result<void> RemoveIfThere(FileSystem& fs, const std::string& path) {
  KV_TRY(const bool there, fs.Exists(path));
  if (!there) return {};
  return fs.Remove(path);
}

Result<void> RemoveUnfinished(FileSystem& fs, const std::string& path) {
  for (const std::string& each : NamesInTheMaking(path)) {
    KV_RETURN_IF_ERROR(RemoveIfThere(fs, LmdbLockOf(each)));
    KV_RETURN_IF_ERROR(RemoveIfThere(fs, each));
  }
  return {};
}

Result<void> RemoveLeftovers(FileSystem& fs, const Layout& layout) {
  KV_TRY(const bool is_ours, IsOurs(fs, layout));
  KV_TRY(const DatabaseOwner owner, OwnerOfDatabase(fs, layout.database));
  if (owner != (is_ours ? DatabaseOwner::kKvorum : DatabaseOwner::kEtcd)) return {};
  // It was kvorum's before a move, and its database no longer exists.
  if (!is_ours) KV_RETURN_IF_ERROR(mvcc::RemoveIndexFile(fs, layout.database));
  KV_RETURN_IF_ERROR(RemoveIfThere(fs, RewriteOf(layout.database)));
  KV_RETURN_IF_ERROR(RemoveUnfinished(fs, layout.Adopted()));
  return EndRelease(fs, layout);
}

Result<void> Exchange(FileSystem& fs, const std::string& made, const std::string& database,
                      const std::string& kept) {
  const std::string folder = ParentDirectory(database);
  KV_RETURN_IF_ERROR(mvcc::RemoveIndexFile(fs, database));
  KV_TRY(const bool there, fs.Exists(database));
  if (there) {
    KV_RETURN_IF_ERROR(RemoveIfThere(fs, LmdbLockOf(database)));
    KV_RETURN_IF_ERROR(fs.Rename(database, kept));
    KV_RETURN_IF_ERROR(fs.SyncDirectory(folder));
  }
  KV_RETURN_IF_ERROR(fs.Rename(made, database));
  return fs.SyncDirectory(folder);
}

Result<void> DropKept(FileSystem& fs, const Layout& layout) {
  KV_RETURN_IF_ERROR(RemoveIfThere(fs, layout.KeptOfEtcd()));
  KV_RETURN_IF_ERROR(RemoveIfThere(fs, layout.KeptOfOurs()));
  return fs.SyncDirectory(layout.snap);
}

}  // namespace kvorum::datadir
