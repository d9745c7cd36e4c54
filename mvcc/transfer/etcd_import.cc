#include "mvcc/transfer/etcd_import.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bbolt/reader.h"
#include "mvcc/lmdb/long_key.h"
#include "mvcc/lmdb/write_batch.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/revision.h"
#include "mvcc/transfer/record_check.h"

namespace kvorum::mvcc {
namespace {

std::unexpected<Error> DamagedEtcdFile(const std::string& why) {
  return Fail(Code::kDataLoss, "mvcc: etcd's file is damaged: " + why);
}

Result<std::uint64_t> ReadEtcdNumber(bbolt::Reader& file, const bbolt::Bucket& meta,
                                     std::string_view key) {
  KV_TRY(const std::optional<std::string> bytes, file.Get(meta, key));
  if (!bytes.has_value()) return 0;
  KV_RETURN_IF_ERROR(CheckMetaRecord(key, *bytes));
  std::uint64_t value = 0;
  for (const char byte : *bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

Result<bbolt::Bucket> FindMeta(bbolt::Reader& file) {
  KV_TRY(std::optional<bbolt::Bucket> meta, file.FindBucket(BucketName(Bucket::kMeta)));
  if (!meta.has_value()) return NoDatabase();
  return *std::move(meta);
}

// The records of the next commit, and the totals of all.
class Commits {
 public:
  Commits(const EtcdImport& import, Backend& into) : import_(import), into_(into) {}

  std::uint64_t count() const { return count_; }
  const snapshot_format::Totals& totals() const { return totals_; }

  // Buckets in the order of the snapshot format's tags, keys in order.
  Result<void> Put(std::size_t tag_index, std::string_view key, std::string_view value) {
    const Bucket bucket = snapshot_format::kTags[tag_index];
    if (tag_index != group_tag_index_ || !group_.IsOf(key)) KV_RETURN_IF_ERROR(PutGroup());
    if (!KeyGroup::Holds(bucket, key)) return PutStored(tag_index, key, value);
    group_tag_index_ = tag_index;
    if (!IsLongKey(bucket, key)) {
      group_.Add(key, value);
    } else {
      const BucketRecord stored = StoredForm(key, value);
      group_.Add(stored.key, stored.value);
    }
    return {};
  }

  Result<void> Finish() {
    KV_RETURN_IF_ERROR(PutGroup());
    return CommitWaiting();
  }

 private:
  // Refers to its value by its place: the memory moves as it grows.
  struct Waiting {
    Revision revision;
    std::size_t offset = 0;
    std::size_t size_bytes = 0;
    bool tombstone = false;
  };

  // Names that begin alike, in the backend's order.
  Result<void> PutGroup() {
    return group_.Drain([&](std::string_view key, std::string_view value) {
      return PutStored(group_tag_index_, key, value);
    });
  }

  Result<void> PutStored(std::size_t tag_index, std::string_view key, std::string_view value) {
    const Bucket bucket = snapshot_format::kTags[tag_index];
    if (key.empty() || key.size() > kMaxBucketKeySizeBytes) {
      return Fail(Code::kInvalidArgument, "mvcc: bucket " + std::string(BucketName(bucket)) +
                                              " has a key of " + std::to_string(key.size()) +
                                              " bytes");
    }
    record_.clear();
    snapshot_format::AppendRecord(record_, static_cast<std::uint8_t>(tag_index + 1), key, value);
    totals_.AddBody(record_, 1);
    if (bucket == Bucket::kKey) {
      KV_RETURN_IF_ERROR(Append(key, value));
    } else {
      changes_.Put(bucket, key, value);
    }
    waiting_bytes_ += record_.size();
    if (waiting_bytes_ < kBulkCommitBytes && appends_.size() + changes_.size() < kBulkCommitRecords)
      return {};
    return CommitWaiting();
  }

  Result<void> Append(std::string_view key, std::string_view value) {
    KV_TRY(const RevisionKey::Decoded checked, revisions_.Next(key, value));
    appends_.push_back({.revision = checked.revision,
                        .offset = values_.size(),
                        .size_bytes = value.size(),
                        .tombstone = checked.tombstone});
    values_.append(value);
    return {};
  }

  Result<void> CommitWaiting() {
    std::vector<RevisionRecord> records;
    records.reserve(appends_.size());
    for (const Waiting& each : appends_) {
      records.push_back({.revision = each.revision,
                         .value = std::string_view(values_).substr(each.offset, each.size_bytes),
                         .tombstone = each.tombstone});
    }
    WriteBatch batch;
    if (!records.empty()) batch.appends.emplace_back(records);
    batch.changes = std::exchange(changes_, {});
    if (batch.empty()) return {};
    KV_RETURN_IF_ERROR(into_.Commit(batch));
    ++count_;
    appends_.clear();
    values_.clear();
    waiting_bytes_ = 0;
    if (!import_.on_progress) return {};
    return import_.on_progress(totals_.records, totals_.bytes);
  }

  const EtcdImport& import_;
  Backend& into_;
  std::uint64_t count_ = 0;
  snapshot_format::Totals totals_;
  RevisionCheck revisions_;
  std::string record_;
  // The content of the next commit.
  std::string values_;
  std::vector<Waiting> appends_;
  BucketChanges changes_;
  std::size_t waiting_bytes_ = 0;
  KeyGroup group_;
  std::size_t group_tag_index_ = 0;
};

// The bucket of meta is small: a few keys.
Result<void> PutMeta(bbolt::Reader& file, const EtcdImport& import, std::size_t tag_index,
                     Commits& commits) {
  constexpr std::size_t kMaxKeys = 1000;
  KV_TRY(const bbolt::Bucket bucket, FindMeta(file));
  std::map<std::string, std::string, std::less<>> meta;
  bbolt::Cursor cursor = file.NewCursor(bucket);
  KV_TRY(bool more, cursor.First());
  while (more) {
    if (cursor.is_bucket()) return NestedBucket(BucketName(Bucket::kMeta), cursor.key());
    if (meta.size() == kMaxKeys) return DamagedEtcdFile("bucket meta has too many keys");
    KV_RETURN_IF_ERROR(CheckMetaRecord(cursor.key(), cursor.value()));
    if (import.check) KV_RETURN_IF_ERROR(import.check(Bucket::kMeta, cursor.key(), cursor.value()));
    meta.emplace(cursor.key(), cursor.value());
    KV_TRY(more, cursor.Next());
  }
  const auto set = [&](std::string_view key, std::string value) {
    meta.erase(std::string(key));
    if (!value.empty()) meta.emplace(key, std::move(value));
  };
  set(meta_key::kConsistentIndex, MetaNumber(import.meta.consistent_index));
  set(meta_key::kTerm, MetaNumber(import.meta.term));
  set(meta_key::kConfState, import.meta.conf_state);
  set(meta_key::kStorageVersion, import.meta.storage_version);
  for (const auto& [key, value] : meta) KV_RETURN_IF_ERROR(commits.Put(tag_index, key, value));
  return {};
}

// A bucket that a later version has may hold what must not be lost.
Result<void> CheckNames(bbolt::Reader& file) {
  bbolt::Cursor names = file.NewCursor(file.root());
  KV_TRY(bool more, names.First());
  while (more) {
    const std::string name(names.key());
    if (!names.is_bucket()) return DamagedEtcdFile("a key beside the buckets");
    if (std::ranges::find(kBucketNames, name) == kBucketNames.end()) {
      KV_TRY(const bbolt::Bucket bucket, names.bucket());
      bbolt::Cursor records = file.NewCursor(bucket);
      KV_TRY(const bool has_any, records.First());
      if (has_any) {
        return Fail(Code::kFailedPrecondition,
                    "mvcc: etcd's file has a bucket that is not known here: " +
                        name.substr(0, kMaxBucketKeySizeBytes));
      }
    }
    KV_TRY(more, names.Next());
  }
  return {};
}

}  // namespace

std::string MetaNumber(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (std::size_t i = bytes.size(); i-- > 0; value >>= 8) bytes[i] = static_cast<char>(value);
  return bytes;
}

Result<EtcdMeta> ReadEtcdMeta(bbolt::Reader& file) {
  KV_TRY(const bbolt::Bucket bucket, FindMeta(file));
  EtcdMeta meta;
  KV_TRY(meta.consistent_index, ReadEtcdNumber(file, bucket, meta_key::kConsistentIndex));
  KV_TRY(meta.term, ReadEtcdNumber(file, bucket, meta_key::kTerm));
  KV_TRY(std::optional<std::string> conf_state, file.Get(bucket, meta_key::kConfState));
  meta.conf_state = std::move(conf_state).value_or("");
  KV_TRY(std::optional<std::string> version, file.Get(bucket, meta_key::kStorageVersion));
  meta.storage_version = std::move(version).value_or("");
  return meta;
}

class EtcdImporter::Walk {
 public:
  Walk(bbolt::Reader& file, EtcdImport import, Backend& into)
      : file_(file), import_(std::move(import)), commits_(import_, into) {}

  const snapshot_format::Totals& totals() const { return commits_.totals(); }

  Result<bool> ToNextCommit() {
    if (tag_index_ == 0 && !cursor_.has_value()) KV_RETURN_IF_ERROR(CheckNames(file_));
    const std::uint64_t commits_before = commits_.count();
    while (tag_index_ < snapshot_format::kTags.size()) {
      if (!cursor_.has_value()) {
        KV_RETURN_IF_ERROR(BeginBucket());
        continue;
      }
      KV_RETURN_IF_ERROR(PutRecord(snapshot_format::kTags[tag_index_]));
      KV_TRY(const bool more, cursor_->Next());
      if (!more) EndBucket();
      if (commits_.count() != commits_before) return false;
    }
    KV_RETURN_IF_ERROR(commits_.Finish());
    return true;
  }

 private:
  Result<void> PutRecord(Bucket bucket) {
    const std::string_view key = cursor_->key();
    if (cursor_->is_bucket()) return NestedBucket(BucketName(bucket), key);
    if (bucket != Bucket::kKey && import_.check)
      KV_RETURN_IF_ERROR(import_.check(bucket, key, cursor_->value()));
    return commits_.Put(tag_index_, key, cursor_->value());
  }
  // Ends it as well, if nothing is left to put.
  Result<void> BeginBucket() {
    const Bucket bucket = snapshot_format::kTags[tag_index_];
    if (bucket == Bucket::kMeta) {
      KV_RETURN_IF_ERROR(PutMeta(file_, import_, tag_index_, commits_));
      EndBucket();
      return {};
    }
    KV_TRY(const std::optional<bbolt::Bucket> found, file_.FindBucket(BucketName(bucket)));
    if (!found.has_value()) {
      if (bucket == Bucket::kKey) return NoDatabase();
      EndBucket();
      return {};
    }
    cursor_.emplace(file_.NewCursor(*found));
    KV_TRY(const bool any, cursor_->First());
    if (!any) EndBucket();
    return {};
  }
  void EndBucket() {
    cursor_.reset();
    ++tag_index_;
  }

  bbolt::Reader& file_;
  const EtcdImport import_;
  Commits commits_;
  std::size_t tag_index_ = 0;
  std::optional<bbolt::Cursor> cursor_;  // stands at a key of the bucket, if it is begun
};

EtcdImporter::EtcdImporter(bbolt::Reader& file, EtcdImport import, Backend& into)
    : walk_(std::make_unique<Walk>(file, std::move(import), into)) {}
EtcdImporter::~EtcdImporter() = default;

Result<bool> EtcdImporter::Step() { return walk_->ToNextCommit(); }
const snapshot_format::Totals& EtcdImporter::totals() const { return walk_->totals(); }

Result<snapshot_format::Totals> ImportEtcdContent(bbolt::Reader& file, const EtcdImport& import,
                                                  Backend& into) {
  EtcdImporter importer(file, import, into);
  while (true) {
    KV_TRY(const bool done, importer.Step());
    if (done) return importer.totals();
  }
}

}  // namespace kvorum::mvcc
