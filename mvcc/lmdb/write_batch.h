// The changes of one backend commit: revisions appended, revisions deleted, and entries of the
// small buckets put or removed, all of it or nothing.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mvcc/records/bucket.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

// A record of the `key` bucket. The value is borrowed from the owner of the record's memory.
struct RevisionRecord {
  Revision revision;
  std::string_view value;
  bool tombstone = false;
};

// Changes of the buckets other than `key`; the last change to a key wins. Used by one thread at a
// time. A change costs O(log n) and at most two allocations, a change to an existing key usually
// none.
class BucketChanges {
 public:
  struct Key {
    Bucket bucket;
    std::string key;
  };
  struct KeyView {
    Bucket bucket;
    std::string_view key;
  };
  struct Less {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      if (a.bucket != b.bucket) return a.bucket < b.bucket;
      return std::string_view(a.key) < std::string_view(b.key);
    }
  };
  // nullopt: removed.
  using Map = std::map<Key, std::optional<std::string>, Less>;

  // The key has 1 to kMaxBucketKeySizeBytes bytes.
  void Put(Bucket bucket, std::string_view key, std::string_view value);
  // Removing a missing key is fine.
  void Remove(Bucket bucket, std::string_view key);
  // Moves the changes of `newer` here, which win, and leaves it empty.
  void Merge(BucketChanges&& newer);

  bool empty() const { return map_.empty(); }
  std::size_t size() const { return map_.size(); }
  const Map& map() const { return map_; }

 private:
  std::optional<std::string>& Slot(Bucket bucket, std::string_view key);

  Map map_;
};

// The size of one commit while a whole database is written: large enough that its sync does not
// matter, small enough for memory.
inline constexpr std::size_t kBulkCommitBytes = std::size_t{8} << 20;
inline constexpr std::size_t kBulkCommitRecords = 10'000;

// Borrows the records' values; their owner outlives the commit.
struct WriteBatch {
  // Strictly ascending over all spans, and after every revision the backend ever held: anything
  // else is a broken invariant and stops the process.
  std::vector<std::span<const RevisionRecord>> appends;
  // Deleted after the appends. Missing ones (an interrupted compaction runs again) are skipped.
  std::vector<Revision> deletions;
  BucketChanges changes;

  bool empty() const { return appends.empty() && deletions.empty() && changes.empty(); }
};

}  // namespace kvorum::mvcc
