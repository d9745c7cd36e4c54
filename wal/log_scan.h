// Walks over the records of a whole log, segment by segment, and finds its end: the place of the
// next record, or of a torn tail that must be cut off. Changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "wal/segment_name.h"
#include "wal/segment_reader.h"
#include "wal/wal.h"

namespace kvorum::wal {

struct LogEnd {
  std::uint64_t offset = 0;  // in the last segment
  // Also in it: nothing tells that the records from here on are durable.
  std::uint64_t synced_offset = 0;
  Checksums checksums;
  bool sealed = false;
  std::optional<TornTail> torn;
};

// Called for each metadata, entry, state and snapshot record in order; its data is borrowed. An
// error's text becomes the reason of a FailDamaged that names the place.
using RecordVisitor = std::function<Result<void>(const Record& record)>;

// `segments` are all of wal::ListSegments, or the last ones; at least one.
Result<LogEnd> ScanLog(FileSystem& fs, const std::string& dir,
                       std::span<const SegmentName> segments, const RecordVisitor& visit);

}  // namespace kvorum::wal
