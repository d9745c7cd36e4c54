// Moves etcd's database from one storage version to another, as `etcdutl migrate` does: the rules
// by which that is allowed, and what a log has that an older version cannot read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/version_number.h"
#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/transfer/etcd_import.h"

namespace kvorum::datadir {

// The version that the database states, or 3.5 if it has a term, which older ones lack: those are
// kFailedPrecondition.
Result<server::Version> DetectStorageVersion(const mvcc::EtcdMeta& meta);

// The versions on the way, one minor version at a time, the target last. kInvalidArgument, with
// etcdutl's text, for a version that the schema of 3.7 does not know.
Result<std::vector<server::Version>> MigrationSteps(server::Version from, server::Version target);

// The meta bucket's value at that version; empty, which leaves it out, before 3.6.
std::string StorageVersionField(server::Version version);

// The oldest etcd that can read the entries after the log's newest snapshot, as far as that is
// after 3.5. Errors are those of the log.
Result<std::optional<server::Version>> NeededByLog(FileSystem& fs, const std::string& wal_dir);

}  // namespace kvorum::datadir
