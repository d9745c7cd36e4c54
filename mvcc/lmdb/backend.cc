#include "mvcc/lmdb/backend.h"

#include <algorithm>
#include <array>

#include "base/crc32c.h"

namespace kvorum::mvcc {
namespace {

// Keys in which members of one cluster may differ although they hold the same data.
constexpr std::array kLocalMetaKeys = {meta_key::kConsistentIndex, meta_key::kTerm,
                                       meta_key::kStorageVersion, meta_key::kIndexMark};

bool IsLocal(Bucket bucket, std::string_view key) {
  return bucket == Bucket::kMeta && std::ranges::find(kLocalMetaKeys, key) != kLocalMetaKeys.end();
}

}  // namespace

Result<std::size_t> Snapshot::GetRevisions(std::span<const Revision> revisions,
                                           std::span<std::optional<RevisionRecord>> records) {
  if (revisions.empty()) return 0;
  KV_TRY(records[0], GetRevision(revisions[0]));
  return 1;
}

Result<void> Snapshot::ScanSizes(Bucket bucket, std::string_view from, std::string_view to,
                                 const VisitSize& visit) {
  return Scan(bucket, from, to, [&](std::string_view key, std::string_view value) {
    return visit(key, value.size());
  });
}

Result<void> Snapshot::ScanRevisions(Revision from, Revision to, const VisitRevision& visit) {
  const RevisionKey begin(from);
  const RevisionKey end(to);
  Result<void> decoded;
  KV_RETURN_IF_ERROR(Scan(Bucket::kKey, begin.view(), end.view(),
                          [&](std::string_view key, std::string_view value) {
                            const Result<RevisionKey::Decoded> revision = RevisionKey::Decode(key);
                            if (!revision.has_value()) {
                              decoded = Fail(revision.error());
                              return false;
                            }
                            return visit({revision->revision, value, revision->tombstone});
                          }));
  return decoded;
}

Result<std::uint32_t> Snapshot::Hash() {
  std::uint32_t crc = 0;
  std::uint64_t seen = 0;
  bool must_end = false;
  for (std::size_t i = 0; i < kBucketNames.size(); ++i) {
    const auto bucket = static_cast<Bucket>(i);
    crc = Crc32c(crc, BucketName(bucket));
    KV_RETURN_IF_ERROR(Scan(bucket, {}, {}, [&](std::string_view key, std::string_view value) {
      if (!IsLocal(bucket, key)) crc = Crc32c(Crc32c(crc, key), value);
      must_end = ++seen % kRecordsBetweenLooks == 0 && MustEnd();
      return !must_end;
    }));
    if (must_end) return kReaderMustEnd.Fail();
  }
  return crc;
}

}  // namespace kvorum::mvcc
