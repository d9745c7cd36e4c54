// A database as a file, from any writer: a snapshot or a member's `db`, etcd's (bbolt) or ours
// (LMDB). Read only: nothing of the file changes, and its content is what etcd would have there.
//
// Used by one thread at a time. Errors: kDataLoss for damage, kNotFound, kFailedPrecondition when
// another process writes to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "mvcc/lmdb/write_batch.h"

namespace kvorum::datadir {

enum class DatabaseKind : std::uint8_t { kEtcd, kKvorum };

class DatabaseFile {
 public:
  virtual ~DatabaseFile() = default;

  virtual DatabaseKind kind() const = 0;
  // Counts the database alone, not the checksum behind a snapshot.
  virtual std::uint64_t SizeBytes() const = 0;
  // Reads everything and looks for damage. `on_bytes`, if not empty, gets the bytes that were
  // checked so far.
  using OnBytes = std::function<void(std::uint64_t checked_bytes)>;
  virtual Result<void> Check(const OnBytes& on_bytes) = 0;
  Result<void> Check() { return Check({}); }
  virtual Result<std::optional<std::string>> GetMeta(std::string_view key) = 0;

  // Visits the content in the order in which etcd hashes it. A visitor's error ends the visit.
  struct Visitor {
    std::function<Result<void>(std::string_view bucket)> bucket;
    std::function<Result<void>(std::string_view key, std::string_view value)> record;
    // A bucket within one, in a file of etcd's. Empty: it is a record without a value, as in the
    // hash.
    std::function<Result<void>(std::string_view key)> nested = {};
  };
  virtual Result<void> Visit(const Visitor& visitor) = 0;
  // The records of the bucket `key`, in the order of their revisions.
  using VisitRevision = std::function<Result<void>(const mvcc::RevisionRecord& record)>;
  virtual Result<void> VisitRevisions(const VisitRevision& visit) = 0;
};

// Waits for a file that another process has open or is replacing; 0: without a limit. Creates none.
Result<std::unique_ptr<DatabaseFile>> OpenDatabaseFile(const std::string& path, Duration timeout);

// kDataLoss for a file of neither kind.
Result<DatabaseKind> KindOfDatabase(const std::string& path);

}  // namespace kvorum::datadir
