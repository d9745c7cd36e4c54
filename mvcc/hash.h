// HashKV: a CRC-32C over the name of the key bucket and then, in revision order, key and value of
// each record as stored. Equal histories give equal numbers here and in etcd, whatever part of a
// compaction has reached the disk.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "mvcc/backend.h"
#include "mvcc/index_view.h"
#include "mvcc/revision.h"

namespace kvorum::mvcc {

// A checksum of the key bucket's history up to a revision.
struct KvHash {
  std::uint32_t hash = 0;
  std::int64_t revision = 0;           // hashed up to here (hash_revision)
  std::int64_t compact_revision = -1;  // the compaction that the hash supposes
};

// Used by one thread, fed in revision order.
class KvHasher {
 public:
  // Hashes the history up to `revision` as it is after a compaction at compact_revision (-1:
  // none): records up to there count only if they are in the keep set of a compaction at
  // `revision` under `rule`, and a tombstone at exactly compact_revision never does.
  KvHasher(std::int64_t compact_revision, std::int64_t revision, const IndexView& index,
           KeepRule rule);

  // kDataLoss for a value that is no KeyValue.
  Result<void> Add(const RevisionRecord& record);
  KvHash Finish() const;

 private:
  Result<bool> Counts(const RevisionRecord& record) const;

  const std::int64_t compact_revision_;
  const std::int64_t revision_;
  const IndexView index_;
  const KeepRule rule_;
  // The keep set that old records are measured by. When nothing lives at `revision` its keep set is
  // empty, which in etcd means that every record still on disk counts: those that the compaction
  // has kept.
  const std::int64_t keep_revision_;
  std::uint32_t crc_;
};

// The hashes of the last ten compactions, each over what was there before it ran. Thread-safe: one
// mutex, held for a few lines.
class HashStorage {
 public:
  void Store(const KvHash& hash);
  std::optional<KvHash> Find(std::int64_t revision) const;

 private:
  static constexpr std::size_t kMaxSize = 10;

  mutable std::mutex mutex_;
  std::vector<KvHash> hashes_;  // by revision
};

}  // namespace kvorum::mvcc
