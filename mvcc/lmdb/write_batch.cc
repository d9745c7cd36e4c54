#include "mvcc/lmdb/write_batch.h"

#include "base/check.h"

namespace kvorum::mvcc {

std::optional<std::string>& BucketChanges::Slot(Bucket bucket, std::string_view key) {
  KV_CHECK(bucket != Bucket::kKey, "revisions are appended and deleted, not put");
  KV_CHECK(!key.empty() && key.size() <= kMaxBucketKeySizeBytes, "bucket key of a wrong size");
  const auto at = map_.lower_bound(KeyView{bucket, key});
  if (at != map_.end() && at->first.bucket == bucket && at->first.key == key) return at->second;
  return map_.emplace_hint(at, Key{bucket, std::string(key)}, std::nullopt)->second;
}

void BucketChanges::Put(Bucket bucket, std::string_view key, std::string_view value) {
  std::optional<std::string>& slot = Slot(bucket, key);
  if (slot.has_value()) {
    slot->assign(value);
  } else {
    slot.emplace(value);
  }
}

void BucketChanges::Remove(Bucket bucket, std::string_view key) { Slot(bucket, key).reset(); }

void BucketChanges::Merge(BucketChanges&& newer) {
  if (map_.empty()) {
    map_.swap(newer.map_);
    return;
  }
  for (auto& [key, value] : newer.map_) {
    const auto at = map_.lower_bound(key);
    if (at != map_.end() && !Less()(key, at->first)) {
      at->second = std::move(value);
    } else {
      map_.emplace_hint(at, key, std::move(value));
    }
  }
  newer.map_.clear();
}

}  // namespace kvorum::mvcc
