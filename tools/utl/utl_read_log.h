// Reads the log of a member that may run meanwhile.
#pragma once

#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "wal/wal.h"

namespace kvorum::utl {

// From the oldest marker that the log can be read from. A member that purges the marker's segments
// meanwhile makes this begin anew, three times at most.
Result<wal::Contents> ReadLog(FileSystem& files, const std::string& wal_dir);

}  // namespace kvorum::utl
