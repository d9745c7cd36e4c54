// Writes a database of etcd's anew, without its free pages and maybe with another storage version:
// what etcd does where it stands is a copy here that takes the old file's place when it is whole,
// was read back and is synced. So a crash leaves the old file or the new one, and a remainder,
// `db.rewrite`, that the next call removes.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "datadir/progress.h"

namespace kvorum::datadir {

struct RewriteOptions {
  std::string path;
  // Takes the place of the file's own; an empty text leaves it out.
  std::optional<std::string> storage_version = {};
  // The total is the old file's size, beyond which the new one does not grow.
  OnProgress on_progress = {};
};

// The caller holds etcd's lock on the file. kDataLoss for damage, for which all pages are checked
// first, and for nested buckets, which etcd has none of; kResourceExhausted for a disk without room
// for a second file of what it holds. The old file
// is as it was then. A process that waited for the lock then finds that the old file is not a
// database, unless it has another name (a hard link, or the file behind a symbolic one), which
// keeps it as it was.
Result<void> RewriteEtcds(FileSystem& fs, const RewriteOptions& options);

}  // namespace kvorum::datadir
