// The numbers by which etcd's tools tell databases apart: equal for equal histories, whichever
// format the file has.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "datadir/database_file.h"
#include "mvcc/store/hash.h"

namespace kvorum::datadir {

struct DatabaseStatus {
  std::uint32_t hash = 0;        // CRC-32C of all content
  std::int64_t revision = 0;     // of the last record
  std::uint64_t total_keys = 0;  // that live
  std::uint64_t total_size_bytes = 0;
  std::string version = {};  // of the storage; empty before 3.6
};

// Checks the file, then reads it again. Memory: the names of the keys that live.
Result<DatabaseStatus> ReadStatus(DatabaseFile& file);

// HashKV up to a revision (0: the newest; nothing is below zero), as a server with this database
// answers it.
// kErrCompacted, kErrFutureRev. Memory: an index of the keys.
Result<mvcc::KvHash> ReadHashKv(DatabaseFile& file, std::int64_t revision);

}  // namespace kvorum::datadir
