#include "mvcc/transfer/record_check.h"

#include <string>

#include "base/text/go_quote.h"
#include "mvcc/index/key_index_builder.h"
#include "mvcc/records/key_value.h"

namespace kvorum::mvcc {
namespace {

std::unexpected<Error> DamagedRecord(std::string_view bucket, const std::string& place,
                                     std::string_view why) {
  return Fail(Code::kDataLoss, "the database is damaged: bucket " + std::string(bucket) + ", " +
                                   place + ": " + std::string(why));
}

std::unexpected<Error> BadRevision(const RevisionKey::Decoded& key, std::string_view why) {
  return DamagedRecord(BucketName(Bucket::kKey),
                       "revision " + std::to_string(key.revision.main) + "_" +
                           std::to_string(key.revision.sub) + (key.tombstone ? "t" : ""),
                       why);
}

}  // namespace

std::unexpected<Error> BadRecord(std::string_view bucket, std::string_view key,
                                 std::string_view why) {
  return DamagedRecord(bucket, "key " + GoQuote(key), why);
}

std::unexpected<Error> NestedBucket(std::string_view bucket, std::string_view key) {
  return BadRecord(bucket, key, "it is a bucket, not a record");
}

std::unexpected<Error> NoDatabase() {
  return Fail(Code::kDataLoss, "mvcc: it is not an etcd database");
}

Result<RevisionKey::Decoded> RevisionCheck::Next(std::string_view key, std::string_view value) {
  const auto decoded = RevisionKey::Decode(key);
  if (!decoded.has_value())
    return BadRecord(BucketName(Bucket::kKey), key, "the key is not a revision");
  const auto kv = DecodeKeyValue(value);
  if (!kv.has_value()) return BadRevision(*decoded, "the value is not a key-value pair");
  const auto checked = KeyIndexBuilder::Check({.key = kv->key,
                                               .revision = decoded->revision,
                                               .create_revision = kv->create_revision,
                                               .version = kv->version,
                                               .tombstone = decoded->tombstone});
  if (!checked.has_value()) return BadRevision(*decoded, checked.error().message);
  if (decoded->revision.main > kLargestRevision)
    return BadRevision(*decoded, "the revision is larger than any that a cluster comes to");
  if (decoded->revision <= last_) return BadRevision(*decoded, "the revision is there twice");
  const bool is_bump = value.empty();  // of etcdutl's restore
  if (!decoded->tombstone && !is_bump && kv->mod_revision != decoded->revision.main)
    return BadRevision(*decoded, "it holds a record of another one");
  last_ = decoded->revision;
  return *decoded;
}

Result<void> CheckMetaRecord(std::string_view key, std::string_view value) {
  const auto bad = [&](std::string_view why) {
    return BadRecord(BucketName(Bucket::kMeta), key, why);
  };
  if ((key == meta_key::kConsistentIndex || key == meta_key::kTerm) && value.size() != 8)
    return bad("the value is not an 8-byte number");
  if (key == meta_key::kScheduledCompact || key == meta_key::kFinishedCompact) {
    const auto mark = RevisionKey::Decode(value);
    if (!mark.has_value() || mark->tombstone || mark->revision.main < 0)
      return bad("the value is not a revision");
    if (mark->revision.main > kLargestRevision)
      return bad("the revision is larger than any that a cluster comes to");
  }
  return {};
}

}  // namespace kvorum::mvcc
