#include "tools/utl/utl_read_log.h"

#include <vector>

namespace kvorum::utl {
namespace {

// A marker may have been written when its entries were about to go, and be the first one for long.
Result<wal::Contents> ReadFromFirst(FileSystem& files, const std::string& wal_dir,
                                    const std::vector<wal::SnapshotMarker>& markers) {
  Result<wal::Contents> log = Fail(Code::kNotFound, "the WAL in " + wal_dir + " has no marker");
  for (const wal::SnapshotMarker& marker : markers) {
    log = wal::Read(files, wal_dir, marker);
    if (log.has_value() || log.error().code != Code::kNotFound) break;
  }
  return log;
}

}  // namespace

Result<wal::Contents> ReadLog(FileSystem& files, const std::string& wal_dir) {
  constexpr int kMostTries = 3;
  for (int tries = 1;; ++tries) {
    KV_TRY(std::vector<wal::SnapshotMarker> markers, wal::ListMarkers(files, wal_dir));
    if (markers.empty()) markers.emplace_back();
    auto log = ReadFromFirst(files, wal_dir, markers);
    const bool may_be_purged = !log.has_value() && log.error().code == Code::kNotFound;
    if (!may_be_purged || tries == kMostTries) return log;
  }
}

}  // namespace kvorum::utl
