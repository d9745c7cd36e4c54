// The names of the files in a data directory, and the marks by which one tells whose it is.
//
// A directory is kvorum's once `member/format` is there, which is written last when a directory is
// adopted and removed last when it is released. Both replace `member/snap/db` by a file that is
// complete and synced, and keep the old one:
//
//   db.adopt.part   being built from etcd's db     db.release.part  being built from ours
//   db.adopt        complete, takes db's place     db.release       the same
//   db.etcd         etcd's, kept by adopt          db.kvorum        ours, kept by release
//   db.rewrite      a copy of etcd's db in the making, by defrag or migrate
//   db.releasing    a mark: db.release and db.release.part, if they are there, are a release's own
//
// So of `db` and `db.adopt` (or `db.release`) one is whole at each moment, and a new attempt can
// tell how far the last one came. What an earlier move in the other direction kept stays, until a
// move is run with the option to drop old databases. The mark is written before the first of a
// release's files and removed after the last: files of these names without it are somebody else's,
// and stay.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file_system.h"

namespace kvorum::datadir {

// The content of member/format.
inline constexpr std::string_view kFormat = "kvorum data 1\n";

struct Layout {
  // An empty wal_dir: within the data directory.
  Layout(const std::string& data_dir, const std::string& wal_dir);

  std::string root;
  std::string member;
  std::string wal;
  std::string snap;
  std::string database;     // file
  std::string format;       // file
  std::string lock;         // file
  std::string incarnation;  // file, of server/replica/recovery/incarnations.h

  std::string Adopted() const { return database + ".adopt"; }
  std::string Released() const { return database + ".release"; }
  std::string Releasing() const { return database + ".releasing"; }
  std::string KeptOfEtcd() const { return database + ".etcd"; }
  std::string KeptOfOurs() const { return database + ".kvorum"; }
};

// The file beside a path in which LMDB has its locks; it holds nothing between runs.
inline std::string LmdbLockOf(const std::string& path) { return path + "-lock"; }

// The copy of a database of etcd's that a rewrite is making.
inline std::string RewriteOf(const std::string& path) { return path + ".rewrite"; }

// By a file's headers; it may be damaged elsewhere.
enum class DatabaseOwner : std::uint8_t {
  kNobody,   // there is no file
  kEtcd,     // a bbolt file
  kKvorum,   // an LMDB file
  kUnknown,  // something else, or neither's headers can be read
};
Result<DatabaseOwner> OwnerOfDatabase(FileSystem& fs, const std::string& path);

// Tells whether member/format marks the directory as kvorum's. kFailedPrecondition if it is of a
// layout that is not known, whose files mean nothing here.
Result<bool> IsOurs(FileSystem& fs, const Layout& layout);

// Tells whether a release has begun, and has not ended.
Result<bool> HasReleaseBegun(FileSystem& fs, const Layout& layout);
// Marks the release's files as its own. Durable when it returns. kFailedPrecondition if there is a
// file of one of their names that no release has made.
Result<void> BeginRelease(FileSystem& fs, const Layout& layout);
// Removes the release's files, then the mark. Nothing without the mark.
Result<void> EndRelease(FileSystem& fs, const Layout& layout);

// Takes the lock that a member's process, and each program that changes its directory, holds while
// it uses it. kNotFound if there is no member in it, kFailedPrecondition when it is in use.
Result<std::unique_ptr<FileLock>> LockMember(FileSystem& fs, const Layout& layout);

// The same lock, whose file goes with it where the directory is etcd's. Used by one thread.
class MemberLock {
 public:
  static Result<MemberLock> Take(FileSystem& fs, const Layout& layout);
  MemberLock(MemberLock&&) noexcept = default;
  MemberLock& operator=(MemberLock&&) = delete;
  ~MemberLock();

 private:
  MemberLock(FileSystem& fs, const Layout& layout, std::unique_ptr<FileLock> lock)
      : fs_(fs), layout_(layout), lock_(std::move(lock)) {}

  FileSystem& fs_;
  const Layout layout_;
  std::unique_ptr<FileLock> lock_;
};

// A missing file is fine. Not durable.
Result<void> RemoveIfThere(FileSystem& fs, const std::string& path);
// Everything that building a database under this name may have left.
Result<void> RemoveUnfinished(FileSystem& fs, const std::string& path);
// Removes what rewrites, conversions and moves that were killed have left beside a database that is
// the owner's: nothing of it is needed any more. The caller holds the member's lock. Not durable.
Result<void> RemoveLeftovers(FileSystem& fs, const Layout& layout);
// Puts `made` into the place of `database`, which is kept as `kept` if it is there. Durable when it
// returns; after a crash it may be called again.
Result<void> Exchange(FileSystem& fs, const std::string& made, const std::string& database,
                      const std::string& kept);

// Removes the databases that moves in either direction have kept. Durable when it returns.
Result<void> DropKept(FileSystem& fs, const Layout& layout);

}  // namespace kvorum::datadir
