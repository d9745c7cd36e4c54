// The data directory: its layout, its owner and its version.
//
//   <data-dir>/member/format          the layout's version, written once
//   <data-dir>/member/lock            held by the process that uses it
//   <data-dir>/member/incarnation     which directory it is
//   (server/replica/recovery/incarnations.h) <data-dir>/member/wal/*.wal       the log (or
//   --wal-dir) <data-dir>/member/snap/*.snap     snapshots of the log's position
//   <data-dir>/member/snap/db         the backend
//   <data-dir>/member/archive-origin.json  where its data left an archive
//   (datadir/archive_origin.h) <data-dir>/restore.part           a restore under way
//   (datadir/restore.h)
//
// Directories get mode 0700, also those that others could enter: they hold every key and, later,
// password hashes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"

namespace kvorum::datadir {

inline constexpr std::string_view kUnfinishedRestore = "restore.part";
// A file in a log's directory elsewhere that such a restore has made.
inline std::string UnfinishedLogMark(const std::string& wal_dir) {
  return wal_dir + "/" + std::string(kUnfinishedRestore);
}

struct DataDirectory {
  std::string root;
  std::string wal;
  std::string snap;
  std::string database;  // file
  std::unique_ptr<FileLock> lock;
};

// Creates missing directories and takes the lock. kFailedPrecondition when another process holds
// it, when the layout is of another version or another program, or when its mode is too open, or
// when a restore in it has not finished; the texts say what to do. `wal_dir` may be empty.
Result<DataDirectory> OpenDataDirectory(FileSystem& fs, const std::string& data_dir,
                                        const std::string& wal_dir);

// For real directories only: removes all access of others (mode 0700) and logs that. Refuses paths
// that are not directories, or not ours to change. A missing one is fine.
Result<void> EnforcePrivate(const std::string& dir);

}  // namespace kvorum::datadir
