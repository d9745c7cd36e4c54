#include "datadir/database_status.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/api_errors.h"
#include "base/crc32c.h"
#include "base/text/go_quote.h"
#include "mvcc/index/key_index.h"
#include "mvcc/index/key_index_builder.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/key_value.h"
#include "mvcc/records/revision.h"

namespace kvorum::datadir {
namespace {

std::unexpected<Error> InBucket(std::string_view bucket, const std::string& what) {
  return Fail(Code::kDataLoss,
              "error during bucket key iteration, name: " + GoQuote(bucket) + " err: " + what);
}

// Counts the keys that live as their records pass by.
class KeyCount {
 public:
  Result<void> Add(std::string_view key, std::string_view value) {
    const std::string_view bucket = mvcc::BucketName(mvcc::Bucket::kKey);
    const auto decoded = mvcc::RevisionKey::Decode(key);
    if (!decoded.has_value()) {
      return InBucket(bucket, "cannot parse revision key: " + GoQuote(key) +
                                  " err: " + decoded.error().message);
    }
    const auto kv = mvcc::DecodeKeyValue(value);
    if (!kv.has_value()) {
      return InBucket(bucket, "cannot unmarshal value, key: " + GoQuote(key) +
                                  " value: " + GoQuote(value) + " err: " + kv.error().message);
    }
    revision_ = decoded->revision.main;
    if (decoded->tombstone) {
      live_.erase(std::string(kv->key));
    } else {
      live_.emplace(kv->key);
    }
    return {};
  }
  std::int64_t revision() const { return revision_; }
  std::uint64_t live() const { return live_.size(); }

 private:
  std::int64_t revision_ = 0;
  std::unordered_set<std::string> live_;
};

Result<std::int64_t> ReadCompactMark(DatabaseFile& file, std::string_view name) {
  KV_TRY(const auto bytes, file.GetMeta(name));
  if (!bytes.has_value()) return -1;
  KV_TRY(const auto mark, mvcc::RevisionKey::Decode(*bytes));
  return mark.revision.main;
}

}  // namespace

Result<DatabaseStatus> ReadStatus(DatabaseFile& file) {
  if (const auto checked = file.Check(); !checked.has_value()) {
    return Fail(Code::kDataLoss, "snapshot file integrity check failed. 1 errors found.\n" +
                                     checked.error().message);
  }
  DatabaseStatus status{.total_size_bytes = file.SizeBytes()};
  KV_TRY(auto version, file.GetMeta(mvcc::meta_key::kStorageVersion));
  status.version = std::move(version).value_or("");
  KeyCount keys;
  bool in_keys = false;
  KV_RETURN_IF_ERROR(
      file.Visit({.bucket = [&](std::string_view name) -> Result<void> {
                    status.hash = Crc32c(status.hash, name);
                    in_keys = name == mvcc::BucketName(mvcc::Bucket::kKey);
                    return {};
                  },
                  .record = [&](std::string_view key, std::string_view value) -> Result<void> {
                    status.hash = Crc32c(Crc32c(status.hash, key), value);
                    return in_keys ? keys.Add(key, value) : Result<void>();
                  }}));
  status.revision = keys.revision();
  status.total_keys = keys.live();
  return status;
}

Result<mvcc::KvHash> ReadHashKv(DatabaseFile& file, std::int64_t revision) {
  KV_TRY(const std::int64_t scheduled, ReadCompactMark(file, mvcc::meta_key::kScheduledCompact));
  KV_TRY(const std::int64_t finished, ReadCompactMark(file, mvcc::meta_key::kFinishedCompact));
  const std::int64_t compacted = std::max(scheduled, finished);

  mvcc::KeyIndexBuilder builder;
  mvcc::KeyIndexBuilder::Chunk& chunk = builder.AddChunk();
  std::int64_t newest = std::max<std::int64_t>(1, compacted);
  KV_RETURN_IF_ERROR(file.VisitRevisions([&](const mvcc::RevisionRecord& record) -> Result<void> {
    KV_TRY(const mvcc::KeyValue kv, mvcc::DecodeKeyValue(record.value));
    newest = std::max(newest, record.revision.main);
    return chunk.Add({.key = kv.key,
                      .revision = record.revision,
                      .create_revision = kv.create_revision,
                      .version = kv.version,
                      .tombstone = record.tombstone});
  }));
  chunk.Finish();
  if (revision > 0 && revision < compacted) return kErrCompacted.Fail();
  if (revision > newest) return kErrFutureRev.Fail();
  if (revision == 0) revision = newest;

  KV_TRY(const std::unique_ptr<mvcc::KeyIndex> index,
         builder.Build({.current_revision = newest, .compact_revision = compacted}));
  const auto view = index->working();
  mvcc::KvHasher hasher = mvcc::KvHasher::ForHistory(compacted, revision, view);
  KV_RETURN_IF_ERROR(file.VisitRevisions(
      [&](const mvcc::RevisionRecord& record) { return hasher.Add(view, record); }));
  return hasher.Finish();
}

}  // namespace kvorum::datadir
