// HashKV: a CRC-32C over the name of the key bucket and then, in revision order, key and value of
// each record as stored. Equal histories give equal numbers here and in etcd, no matter how much of
// a compaction has reached the disk.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "mvcc/index/index_view.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

// A checksum of the key bucket's history up to a revision.
struct KvHash {
  std::uint32_t hash = 0;
  std::int64_t revision = 0;           // hashed up to here (hash_revision)
  std::int64_t compact_revision = -1;  // the compaction that the hash assumes
  // The hash that an equal member gives if only one of the two has compacted at `revision`. It may
  // differ from `hash` if no key lives there (KvHasher).
  std::optional<std::uint32_t> other_hash{};

  // True if a member that answers `theirs`, for the same revision and compaction, has the same
  // history.
  bool Agrees(std::uint32_t theirs) const { return theirs == hash || theirs == other_hash; }
};

// Used by one thread, fed in revision order.
//
// Records up to the compacted revision count only if they outlive a compaction at the hashed
// revision. A tombstone at exactly the compacted revision never counts, since older members have
// deleted it. If no key lives at the hashed revision, none of these records outlives it. Until etcd
// compacts there, it counts all of them that its disk still has; the hash that this compaction
// leaves counts none. So one history has two hashes: `other_hash` is the one that the member does
// not give.
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
  std::int64_t revision() const { return revision_; }

 private:
  enum class OldRecords {
    kKeptAtRevision,    // those count which a compaction at the hashed revision keeps
    kKeptByCompaction,  // those which the last compaction keeps: no key lives
    kAllFound,          // the same, when the index no longer tells which
  };

  KvHasher(std::int64_t compact_revision, std::int64_t revision, OldRecords old_records);
  Result<bool> Counts(const IndexView& index, const RevisionRecord& record) const;

  std::int64_t compact_revision_;
  std::int64_t revision_;
  OldRecords old_records_;
  std::uint32_t crc_;
  std::uint32_t crc_of_new_;  // without the old records; kept only if no key lives
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
