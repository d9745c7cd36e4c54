// Checks a database file before LMDB maps it. LMDB 0.9 trusts its file: in a truncated one it would
// read missing pages, which ends the process with SIGBUS.
#pragma once

#include <string>

#include "base/error.h"
#include "mvcc/lmdb/backend.h"

namespace kvorum::mvcc {

// ok if the open file has the header of our LMDB version and page size and every page that its
// newest state may read. kDataLoss with the reason otherwise. Reads only; O(1) unless the file ends
// within free pages, which is legal and makes it walk the list of free pages. With
// LmdbCheck::kAllPages it walks the tree of records too, so that LMDB meets no damage outside of
// the records' bytes, which have checksums.
Result<void> CheckLmdbFile(int fd, const std::string& path, LmdbCheck check);

}  // namespace kvorum::mvcc
