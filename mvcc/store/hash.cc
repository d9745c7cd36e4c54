#include "mvcc/store/hash.h"

#include <algorithm>
#include <string_view>

#include "base/crc32c.h"
#include "base/key_range.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/key_value.h"

namespace kvorum::mvcc {

namespace {

bool AnythingLives(const IndexView& index, std::int64_t revision) {
  const KeyRange everything({}, std::string_view("\0", 1));
  return revision > 0 && index.Cursor(everything, revision).valid();
}

}  // namespace

KvHasher::KvHasher(std::int64_t compact_revision, std::int64_t revision, OldRecords old_records)
    : compact_revision_(compact_revision),
      revision_(revision),
      old_records_(old_records),
      crc_(Crc32c(0, BucketName(Bucket::kKey))),
      crc_of_new_(crc_) {}

KvHasher KvHasher::ForHistory(std::int64_t compact_revision, std::int64_t revision,
                              const IndexView& index) {
  return KvHasher(
      compact_revision, revision,
      AnythingLives(index, revision) ? OldRecords::kKeptAtRevision : OldRecords::kKeptByCompaction);
}

KvHasher KvHasher::ForCompaction(std::int64_t compact_revision, std::int64_t revision,
                                 const IndexView& index) {
  return KvHasher(
      compact_revision, revision,
      AnythingLives(index, revision) ? OldRecords::kKeptAtRevision : OldRecords::kAllFound);
}

Result<bool> KvHasher::Counts(const IndexView& index, const RevisionRecord& record) const {
  const std::int64_t main = record.revision.main;
  if (main > revision_) return false;
  if (main > compact_revision_) return true;
  if (main == compact_revision_ && record.tombstone) return false;
  if (old_records_ == OldRecords::kAllFound) return true;
  KV_TRY(const KeyValue kv, DecodeKeyValue(record.value));
  const std::int64_t keep_revision =
      old_records_ == OldRecords::kKeptAtRevision ? revision_ : compact_revision_;
  return index.IsKept(kv.key, record.revision, keep_revision, KeepRule::kHash);
}

Result<void> KvHasher::Add(const IndexView& index, const RevisionRecord& record) {
  KV_TRY(const bool counts, Counts(index, record));
  if (!counts) return {};
  const auto add_to = [&](std::uint32_t& crc) {
    crc = Crc32c(crc, RevisionKey(record.revision, record.tombstone).view());
    crc = Crc32c(crc, record.value);
  };
  add_to(crc_);
  const bool is_new = record.revision.main > compact_revision_;
  if (is_new && old_records_ != OldRecords::kKeptAtRevision) add_to(crc_of_new_);
  return {};
}

KvHash KvHasher::Finish() const {
  KvHash hash{.hash = crc_, .revision = revision_, .compact_revision = compact_revision_};
  switch (old_records_) {
    case OldRecords::kKeptAtRevision:
      break;
    case OldRecords::kKeptByCompaction:
      hash.other_hash = crc_of_new_;
      break;
    case OldRecords::kAllFound:
      hash.hash = crc_of_new_;
      hash.other_hash = crc_;
      break;
  }
  return hash;
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
