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
  std::int64_t compact_revision = -1;  // the compaction that the hash assumes
};

// Used by one thread, fed in revision order.
//
// Records up to the compacted revision count only if they outlive a compaction at the hashed
// revision; a tombstone at exactly the compacted revision never counts, since older members have
// deleted it.
class KvHasher {
 public:
  // For the history up to `revision` as HashKV asks for it, when compact_revision (-1: none) was
  // the last compaction.
  static KvHasher ForHistory(std::int64_t compact_revision, std::int64_t revision,
                             const IndexView& index);
  // For the records that a compaction at `revision` finds on disk, when compact_revision was the
  // previous one and has finished. `index` may already be compacted at `revision`.
  static KvHasher ForCompaction(std::int64_t compact_revision, std::int64_t revision,
                                const IndexView& index);

  // `index` knows the compacted revision and all later ones. kDataLoss for a value that is not a
  // KeyValue.
  Result<void> Add(const IndexView& index, const RevisionRecord& record);
  KvHash Finish() const;

 private:
  KvHasher(std::int64_t compact_revision, std::int64_t revision,
           std::optional<std::int64_t> keep_revision);
  Result<bool> Counts(const IndexView& index, const RevisionRecord& record) const;

  std::int64_t compact_revision_;
  std::int64_t revision_;
  // Old records count if a compaction at this revision keeps them; without it all of them do.
  std::optional<std::int64_t> keep_revision_;
  std::uint32_t crc_;
};

// The hashes of the last ten compactions, each over the records before it ran. Thread-safe: one
// mutex, held for a few lines.
class HashStorage {
 public:
  void Store(const KvHash& hash);
  std::optional<KvHash> Find(std::int64_t revision) const;
  std::vector<KvHash> All() const;  // by revision
  void Clear();

 private:
  static constexpr std::size_t kMaxSize = 10;

  mutable std::mutex mutex_;
  std::vector<KvHash> hashes_;  // by revision
};

}  // namespace kvorum::mvcc
