// The names of the files in a data directory, and the marks by which one tells whose it is.
//
// A directory is kvorum's once `member/format` is there, which is written last when a directory is
// adopted and removed last when it is released. Both replace `member/snap/db` by a file that is
// complete and synced, and keep the old one:
//
//   db.adopt.part   being built from etcd's db     db.release.part  being built from ours
//   db.adopt        complete, takes db's place     db.release       the same
//   db.etcd         etcd's, kept by adopt          db.kvorum        ours, kept by release
//
// So of `db` and `db.adopt` (or `db.release`) one is whole at each moment, and whoever begins again
// can tell how far the last attempt came.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  std::string database;  // file
  std::string format;    // file
  std::string lock;      // file

  std::string Adopted() const { return database + ".adopt"; }
  std::string Released() const { return database + ".release"; }
  std::string KeptOfEtcd() const { return database + ".etcd"; }
  std::string KeptOfOurs() const { return database + ".kvorum"; }
};

// The file beside a path in which LMDB has its locks; it holds nothing between runs.
inline std::string LmdbLockOf(const std::string& path) { return path + "-lock"; }

inline constexpr std::uint32_t kLmdbMagic = 0xBEEFC0DE;  // of our database's file

enum class DatabaseOwner : std::uint8_t {
  kNobody,  // there is no file
  kEtcd,    // a bbolt file, damaged or not
  kKvorum,  // any other file: our backend says what is wrong with it, if anything is
};
Result<DatabaseOwner> OwnerOfDatabase(FileSystem& fs, const std::string& path);

// Takes the lock that a member's process holds while it uses its directory. kNotFound if there is
// no member in it.
Result<std::unique_ptr<FileLock>> LockMember(FileSystem& fs, const Layout& layout);

// A missing file is fine. Not durable.
Result<void> RemoveIfThere(FileSystem& fs, const std::string& path);
// Everything that building a database under this name may have left.
Result<void> RemoveUnfinished(FileSystem& fs, const std::string& path);
// Puts `made` into the place of `database`, which is kept as `kept` if it is there. Durable when it
// returns; after a crash it may be called again.
Result<void> Exchange(FileSystem& fs, const std::string& made, const std::string& database,
                      const std::string& kept);

}  // namespace kvorum::datadir
