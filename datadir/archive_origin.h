// The file `member/archive-origin.json`: where this member's data left the line of state that an
// archive may have, since it was restored from an archive or made a new cluster. The
// archive then begins a new history with that place as its origin (docs/decisions/0071):
//
//   {"reason":"restore","history":"00000000000000ab","index":1200,"revision":900}
//
// The next departure replaces it. It is gone after a release to etcd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "proto/raft_types.h"

namespace kvorum::datadir {

inline constexpr std::string_view kRestored = "restore";
inline constexpr std::string_view kForcedNewCluster = "force-new-cluster";

struct ArchiveOrigin {
  std::string reason;
  // The history that was restored from; 0 if none is known.
  std::uint64_t history = 0;
  // The last entry that the data has of the line that was left, and the store's revision then.
  raft::Index index = 0;
  std::int64_t revision = 0;

  friend bool operator==(const ArchiveOrigin&, const ArchiveOrigin&) = default;
};

std::string ArchiveOriginPath(const std::string& data_dir);

// Durable when it returns; `<data_dir>/member` exists.
Result<void> WriteArchiveOrigin(FileSystem& fs, const std::string& data_dir,
                                const ArchiveOrigin& origin);
// nullopt without the file; kDataLoss if it has another content.
Result<std::optional<ArchiveOrigin>> ReadArchiveOrigin(FileSystem& fs, const std::string& data_dir);

}  // namespace kvorum::datadir
