#include "mvcc/store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/logging.h"
#include "mvcc/bucket.h"
#include "mvcc/restore.h"
#include "mvcc/revision.h"

namespace kvorum::mvcc {
namespace {

// Numbers in the meta bucket are 8 bytes, big-endian.
std::array<char, 8> EncodeNumber(std::uint64_t value) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(value >> (56 - 8 * i));
  }
  return bytes;
}

Error BadMeta(std::string_view key) {
  return {Code::kDataLoss,
          "mvcc: meta key " + std::string(key) + " has a value that it cannot have"};
}

// Zero if there is none.
Result<std::uint64_t> ReadNumber(Snapshot& snapshot, std::string_view key) {
  KV_TRY(const std::optional<std::string_view> bytes, snapshot.Get(Bucket::kMeta, key));
  if (!bytes) return 0;
  if (bytes->size() != 8) return Fail(BadMeta(key));
  std::uint64_t value = 0;
  for (const char byte : *bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

Result<std::string> ReadText(Snapshot& snapshot, std::string_view key) {
  KV_TRY(const std::optional<std::string_view> bytes, snapshot.Get(Bucket::kMeta, key));
  return std::string(bytes.value_or(""));
}

// -1 if there is none.
Result<std::int64_t> ReadCompactMark(Snapshot& snapshot, std::string_view key) {
  KV_TRY(const std::optional<std::string_view> bytes, snapshot.Get(Bucket::kMeta, key));
  if (!bytes) return -1;
  const Result<RevisionKey::Decoded> mark = RevisionKey::Decode(*bytes);
  if (!mark || mark->tombstone || mark->revision.main < 0) return Fail(BadMeta(key));
  return mark->revision.main;
}

}  // namespace

Store::Store(StoreOptions options, std::unique_ptr<Backend> backend, StoreExecutors executors)
    : options_(std::move(options)),
      executors_(executors),
      backend_(std::move(backend)),
      buffer_(options_.buffer),
      committer_(*backend_, buffer_, executors_.backend, executors_.copier, options_.commit),
      compactor_(*this) {}

Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::Open(StoreOptions options, std::unique_ptr<Backend> backend,
                                           StoreExecutors executors) {
  std::unique_ptr<Store> store(new Store(std::move(options), std::move(backend), executors));
  KV_RETURN_IF_ERROR(store->Restore());
  return store;
}

Result<void> Store::Restore() {
  std::int64_t scheduled = -1;
  std::int64_t finished = -1;
  {
    KV_TRY(const Reader reader, backend_->NewReader());
    KV_TRY(recovered_.consistent_index, ReadNumber(*reader, meta_key::kConsistentIndex));
    KV_TRY(recovered_.term, ReadNumber(*reader, meta_key::kTerm));
    KV_TRY(recovered_.conf_state, ReadText(*reader, meta_key::kConfState));
    KV_TRY(recovered_.storage_version, ReadText(*reader, meta_key::kStorageVersion));
    KV_TRY(scheduled, ReadCompactMark(*reader, meta_key::kScheduledCompact));
    KV_TRY(finished, ReadCompactMark(*reader, meta_key::kFinishedCompact));
  }
  consistent_index_ = recovered_.consistent_index;
  term_ = recovered_.term;
  working_compact_revision_ = std::max(scheduled, finished);
  // A compaction may have removed the records of the newest revisions, which must not be given out
  // a second time.
  KV_TRY(index_, RestoreIndex(*backend_, {.at_least_revision =
                                              std::max<std::int64_t>(1, working_compact_revision_),
                                          .compact_revision = working_compact_revision_,
                                          .threads = options_.restore_threads,
                                          .on_lease_attachment = options_.on_lease_attachment}));
  working_revision_ = index_->Snapshot().mark().current_revision;
  published_revision_ = working_revision_;
  published_compact_revision_ = working_compact_revision_;
  KV_INFO("kvstore restored", {"current-rev", working_revision_},
          {"compact-rev", working_compact_revision_}, {"keys", index_->live_keys()});
  if (scheduled > finished) {
    KV_INFO("resume scheduled compaction", {"scheduled-compact-revision", scheduled});
    // Its hash would miss what it has deleted before the crash.
    compactor_.Schedule(scheduled, finished, /*store_hash=*/false, nullptr);
    executors_.apply.Post([this] { compactor_.OnPublished(); });
  }
  return {};
}

Result<ReadView> Store::Read() {
  for (;;) {
    IndexSnapshot index = index_->Snapshot();
    WriteBuffer::View buffer = buffer_.CurrentView();
    KV_TRY(Reader reader, backend_->NewReader());
    // A compaction that was published in between may have deleted by now what the snapshot names.
    if (compact_revision() > index.mark().compact_revision) continue;
    return ReadView(std::move(index), std::move(buffer), std::move(reader), counters_);
  }
}

Result<KvHash> Store::HashKv(std::int64_t revision) {
  if (revision > 0) {
    if (const std::optional<KvHash> stored = hashes_.Find(revision)) return *stored;
  }
  KV_TRY(ReadView view, Read());
  return view.HashKv(revision);
}

Result<void> Store::ForEach(Bucket bucket,
                            const std::function<void(std::string_view, std::string_view)>& visit) {
  KV_CHECK(bucket != Bucket::kKey, "revisions are read through a view");
  KV_TRY(const Reader reader, backend_->NewReader());
  return reader->Scan(bucket, {}, {}, [&](std::string_view key, std::string_view value) {
    visit(key, value);
    return true;
  });
}

void Store::PutBucket(Bucket bucket, std::string_view key, std::string_view value) {
  KV_CHECK(bucket != Bucket::kKey, "revisions are written by a txn");
  buffer_.Put(bucket, key, value);
  dirty_ = true;
}

void Store::DeleteBucket(Bucket bucket, std::string_view key) {
  KV_CHECK(bucket != Bucket::kKey, "revisions are deleted by compaction");
  buffer_.Remove(bucket, key);
  dirty_ = true;
}

void Store::PutMeta(std::string_view key, std::uint64_t value) {
  const std::array<char, 8> bytes = EncodeNumber(value);
  buffer_.Put(Bucket::kMeta, key, std::string_view(bytes.data(), bytes.size()));
}

void Store::PutCompactMark(std::string_view key, std::int64_t revision) {
  PutBucket(Bucket::kMeta, key, RevisionKey({.main = revision, .sub = 0}).view());
}

Result<void> Store::Compact(std::int64_t revision, std::move_only_function<void()> on_finished) {
  KV_CHECK(!txn_open_, "a compaction is an entry of its own");
  if (revision <= working_compact_revision_) {
    compactor_.WhenIdle(std::move(on_finished));
    return Refuse(kErrCompacted);
  }
  if (revision > working_revision_) return Refuse(kErrFutureRev);

  KV_FAILPOINT("compactBeforeCommitScheduledCompact");
  // HashKV(0) asks for the newest revision, so no hash may stand there under that name.
  const bool store_hash = compactor_.idle() && revision > 0;
  compactor_.Schedule(revision, working_compact_revision_, store_hash, std::move(on_finished));
  working_compact_revision_ = revision;
  index_dirty_ = true;
  PutCompactMark(meta_key::kScheduledCompact, revision);
  return {};
}

void Store::Publish(std::uint64_t consistent_index, std::uint64_t term) {
  KV_CHECK(!txn_open_, "a txn of the batch has not ended");
  KV_CHECK(consistent_index >= consistent_index_, "the consistent index goes back");
  KV_CHECK(term >= term_, "the term of applied entries goes back");
  if (!dirty_ && consistent_index == consistent_index_ && term == term_) return;
  if (term != term_) PutMeta(meta_key::kTerm, term);
  PutMeta(meta_key::kConsistentIndex, consistent_index);
  consistent_index_ = consistent_index;
  term_ = term;
  dirty_ = false;
  committer_.Publish(consistent_index);  // first: the index may name only what the buffer shows
  if (index_dirty_) PublishIndex();
  compactor_.OnPublished();
}

void Store::PublishCompactMark(std::string_view key, std::int64_t revision) {
  const bool between_batches = !dirty_ && !txn_open_;
  PutCompactMark(key, revision);
  if (between_batches) Publish(consistent_index_, term_);
}

void Store::OnIndexCompacted() {
  index_dirty_ = true;
  if (!dirty_ && !txn_open_) PublishIndex();
}

void Store::PublishIndex() {
  index_->Publish(
      {.current_revision = working_revision_, .compact_revision = working_compact_revision_});
  index_dirty_ = false;
  published_revision_.store(working_revision_, std::memory_order_release);
  published_compact_revision_.store(working_compact_revision_, std::memory_order_release);
  Reclaim();
}

void Store::Reclaim() {
  constexpr std::size_t kStep = 1024;
  if (reclaim_posted_ || !index_->Reclaim(kStep)) return;
  reclaim_posted_ = true;
  executors_.apply.Post([this] {
    reclaim_posted_ = false;
    Reclaim();
  });
}

void Store::WhenRoom(Task resume) {
  buffer_.WhenRoom(
      [this, resume = std::move(resume)]() mutable { executors_.apply.Post(std::move(resume)); });
}

void Store::Fatal(const Error& error) const {
  KV_CHECK(options_.commit.on_fatal, error.message);
  options_.commit.on_fatal(error);
}

void Store::CheckInvariants() const {
  index_->CheckInvariants();
  KV_CHECK(revision() <= working_revision_, "readers are ahead of the writer");
  KV_CHECK(compact_revision() <= working_compact_revision_, "readers are ahead of compactions");
  KV_CHECK(working_compact_revision_ <= working_revision_, "the future is compacted");
  KV_CHECK(compactor_.unfinished() <= working_compact_revision_, "a compaction ran ahead");
  KV_CHECK(dirty_ || txn_open_ || revision() == working_revision_, "a published change is hidden");
}

}  // namespace kvorum::mvcc
