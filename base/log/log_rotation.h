// When a log file is set aside, and which of those that were set aside are kept (rotating_file.h).
#pragma once

#include <cstdint>

#include "base/error.h"

namespace kvorum {

struct LogOptions;

struct LogRotation {
  std::uint64_t max_size_mib = 100;  // 0: 100
  std::uint64_t max_age_days = 0;    // 0: no limit
  std::uint64_t max_backups = 0;     // 0: no limit
  bool local_time = false;           // in the names of old files; UTC otherwise
  bool compress = false;             // old files become .gz
};

// Like InitLogging of base/log/logging.h, with files that are rotated.
Result<void> InitLogging(const LogOptions& options, const LogRotation& rotation);

}  // namespace kvorum
