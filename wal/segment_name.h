// Names of the log's segment files: `%016x-%016x.wal`, the sequence number and the index that the
// next entry had when the segment was begun.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "proto/raft_types.h"

namespace kvorum::wal {

struct SegmentName {
  std::uint64_t sequence = 0;
  raft::Index first_index = 0;

  std::string FileName() const;
  // Nothing for any other name.
  static std::optional<SegmentName> Parse(std::string_view file_name);
  friend bool operator==(const SegmentName&, const SegmentName&) = default;
};

// The segments in the folder from the last gap in their sequence on, oldest first. What lies before
// a gap is what a purge, interrupted by a crash, has left.
Result<std::vector<SegmentName>> ListSegments(FileSystem& fs, const std::string& dir);

// Files in the making end in this; those found at Open are removed.
inline constexpr std::string_view kTemporarySuffix = ".tmp";

}  // namespace kvorum::wal
