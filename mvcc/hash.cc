#include "mvcc/hash.h"

#include <algorithm>
#include <string_view>

#include "base/crc32c.h"
#include "base/key_range.h"
#include "mvcc/bucket.h"
#include "mvcc/key_value.h"

namespace kvorum::mvcc {

namespace {

bool AnythingLives(const IndexView& index, std::int64_t revision) {
  const KeyRange everything({}, std::string_view("\0", 1));
  return revision > 0 && index.Cursor(everything, revision).valid();
}

}  // namespace

KvHasher::KvHasher(std::int64_t compact_revision, std::int64_t revision,
                   std::optional<std::int64_t> keep_revision)
    : compact_revision_(compact_revision),
      revision_(revision),
      keep_revision_(keep_revision),
      crc_(Crc32c(0, BucketName(Bucket::kKey))) {}

// If no key lives at the revision there is nothing to decide by which old records count, and etcd
// counts all that its disk still has: in the end those that the last compaction has kept.
KvHasher KvHasher::ForHistory(std::int64_t compact_revision, std::int64_t revision,
                              const IndexView& index) {
  return KvHasher(compact_revision, revision,
                  AnythingLives(index, revision) ? revision : compact_revision);
}

KvHasher KvHasher::ForCompaction(std::int64_t compact_revision, std::int64_t revision,
                                 const IndexView& index) {
  if (!AnythingLives(index, revision)) return KvHasher(compact_revision, revision, std::nullopt);
  return KvHasher(compact_revision, revision, revision);
}

Result<bool> KvHasher::Counts(const IndexView& index, const RevisionRecord& record) const {
  const std::int64_t main = record.revision.main;
  if (main > revision_) return false;
  if (main > compact_revision_) return true;
  if (main == compact_revision_ && record.tombstone) return false;
  if (!keep_revision_.has_value()) return true;
  KV_TRY(const KeyValue kv, DecodeKeyValue(record.value));
  return index.IsKept(kv.key, record.revision, *keep_revision_, KeepRule::kHash);
}

Result<void> KvHasher::Add(const IndexView& index, const RevisionRecord& record) {
  KV_TRY(const bool counts, Counts(index, record));
  if (!counts) return {};
  crc_ = Crc32c(crc_, RevisionKey(record.revision, record.tombstone).view());
  crc_ = Crc32c(crc_, record.value);
  return {};
}

KvHash KvHasher::Finish() const {
  return {.hash = crc_, .revision = revision_, .compact_revision = compact_revision_};
}

void HashStorage::Store(const KvHash& hash) {
  const std::lock_guard lock(mutex_);
  const auto after = std::ranges::upper_bound(hashes_, hash.revision, {}, &KvHash::revision);
  hashes_.insert(after, hash);
  if (hashes_.size() > kMaxSize) hashes_.erase(hashes_.begin());
}

std::vector<KvHash> HashStorage::All() const {
  const std::lock_guard lock(mutex_);
  return hashes_;
}

void HashStorage::Clear() {
  std::lock_guard lock(mutex_);
  hashes_.clear();
}

std::optional<KvHash> HashStorage::Find(std::int64_t revision) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::lower_bound(hashes_, revision, {}, &KvHash::revision);
  if (found == hashes_.end() || found->revision != revision) return std::nullopt;
  return *found;
}

}  // namespace kvorum::mvcc
