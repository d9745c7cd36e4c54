// --adopt-etcd-data: a directory that is etcd's becomes ours before anything else of the start
// looks at it (datadir/adopt.h). A new or an own directory is left as it is, so the flag may stay
// set.
#pragma once

#include <string>

#include "base/error.h"
#include "base/file_system.h"

namespace kvorum::server {

// Blocks until it is done, and logs how far it is.
Result<void> AdoptAtStart(FileSystem& fs, const std::string& data_dir, const std::string& wal_dir);

}  // namespace kvorum::server
