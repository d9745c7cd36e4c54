// Names of the log's segment files: `%016x-%016x.wal`, the sequence number and the index of the
// next entry when the segment was begun.
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

// The segments in the directory from the last gap in their sequence on, oldest first. Segments
// before a gap are left from a purge that a crash interrupted.
Result<std::vector<SegmentName>> ListSegments(FileSystem& fs, const std::string& dir);

// The suffix of files being made; files with it are removed at Open.
inline constexpr std::string_view kTemporarySuffix = ".tmp";

}  // namespace kvorum::wal
