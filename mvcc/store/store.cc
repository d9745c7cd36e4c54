#include "mvcc/store/store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "base/metric.h"
#include "base/text/duration_text.h"
#include "mvcc/lmdb/long_key.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/revision.h"
#include "mvcc/store/hash_run.h"
#include "mvcc/store/read_batch.h"
#include "mvcc/store/restore.h"

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

// Zero if it is missing.
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

// -1 if it is missing.
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
      state_(std::make_shared<StoreState>(std::move(backend), options_.buffer)),
      keeper_(options_.index_file, executors_.apply.clock()),
      committer_(*state_->backend, state_->buffer, executors_.backend, executors_.copier,
                 [this] {
                   Committer::Options commit = options_.commit;
                   commit.on_written = [this](const WriteBatch& batch) {
                     history_sum_.Add(batch);
                     saver_.OnWritten(batch);
                   };
                   commit.on_commit = [this](const Committer::CommitStats& stats) {
                     sizes_.Refresh(committer_.backend());
                     counters_.commit.Observe(stats.duration);
                     counters_.commit_bytes.Observe(stats.bytes);
                     if (options_.commit.on_commit) options_.commit.on_commit(stats);
                   };
                   return commit;
                 }()),
      compactor_(*this),
      saver_(*this, keeper_) {
  committer_.Retarget(*state_->backend, state_->buffer, state_);
}

Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::Open(StoreOptions options, std::unique_ptr<Backend> backend,
                                           StoreExecutors executors) {
  std::unique_ptr<Store> store(new Store(std::move(options), std::move(backend), executors));
  const Clock& clock = executors.apply.clock();
  const TimePoint begun = clock.Now();
  KV_TRY(const Restored restored, Restore(store->options_, *store->state_, &store->keeper_));
  if (store->keeper_.is_on() && !store->has_loaded_index())
    KV_INFO("built the key index from every record", {"records", restored.records},
            {"took", FormatDuration(clock.Now() - begun)});
  store->GoOnFrom(restored, /*side_version=*/0);
  store->BeginHistorySum(restored);
  store->sizes_.Refresh(*store->state_->backend);
  store->saver_.Begin(restored.records, restored.index_file_revision, restored.later_records);
  store->saver_.SetMarks(restored.index_marks);
  store->ResumeCompaction(restored);
  return store;
}

Result<Store::Recovered> Store::ReadRecovered(Snapshot& content) {
  Recovered recovered;
  KV_TRY(recovered.consistent_index, ReadNumber(content, meta_key::kConsistentIndex));
  KV_TRY(recovered.term, ReadNumber(content, meta_key::kTerm));
  KV_TRY(recovered.conf_state, ReadText(content, meta_key::kConfState));
  KV_TRY(recovered.storage_version, ReadText(content, meta_key::kStorageVersion));
  return recovered;
}

// A compaction may have removed the newest records.
Result<std::int64_t> Store::ReadRevision(Snapshot& content) {
  KV_TRY(const Restored marks, ReadMarks(content));
  KV_TRY(const std::int64_t newest, NewestMain(content));
  return std::max({std::int64_t{1}, marks.compact_revision(), newest});
}

Result<Store::Restored> Store::ReadMarks(Snapshot& content) {
  Restored restored;
  KV_TRY(restored.recovered, ReadRecovered(content));
  KV_TRY(restored.scheduled_compact, ReadCompactMark(content, meta_key::kScheduledCompact));
  KV_TRY(restored.finished_compact, ReadCompactMark(content, meta_key::kFinishedCompact));
  KV_TRY(restored.index_marks, ReadText(content, meta_key::kIndexMark));
  KV_TRY(restored.records, content.CountRevisions());
  return restored;
}

Result<Store::Restored> Store::Restore(const StoreOptions& options, StoreState& state,
                                       IndexKeeper* keeper) {
  Restored restored;
  {
    KV_TRY(const Reader reader, state.backend->NewReader());
    KV_TRY(restored, ReadMarks(*reader));
  }
  const bool is_loaded = keeper != nullptr && LoadSavedIndex(options, state, *keeper, restored);
  if (!is_loaded) {
    KV_TRY(state.index, RestoreIndex(*state.backend, RequestFor(options, restored)));
  }
  restored.revision = state.index->Snapshot().mark().current_revision;
  return restored;
}

void Store::GoOnFrom(const Restored& restored, std::uint64_t side_version) {
  recovered_ = restored.recovered;
  consistent_index_ = recovered_.consistent_index;
  term_ = recovered_.term;
  revisions_.Begin(restored.revision, restored.compact_revision(), side_version);
  KV_INFO("kvstore restored", {"current-rev", revisions_.working()},
          {"compact-rev", revisions_.compacted()}, {"keys", state_->index->live_keys()});
}

void Store::BeginHistorySum(const Restored& restored) {
  history_sum_.Begin(restored.revision, restored.compact_revision(),
                     /*is_compacted=*/restored.scheduled_compact <= restored.finished_compact);
}

void Store::ResumeCompaction(const Restored& restored) {
  if (restored.scheduled_compact <= restored.finished_compact) return;
  KV_INFO("resume scheduled compaction",
          {"scheduled-compact-revision", restored.scheduled_compact});
  // Its hash would miss the records deleted before.
  compactor_.Schedule(restored.scheduled_compact, restored.finished_compact,
                      /*store_hash=*/false, nullptr);
  executors_.apply.Post([this] { compactor_.OnPublished(); });
}

std::int64_t Store::readable_revision() const {
  return State()->index->Snapshot().mark().current_revision;
}

Result<ReadView> Store::Read() {
  if (ReadBatch* const batch = ReadBatch::Current(); batch != nullptr) batch->LetGo();
  for (;;) {
    std::shared_ptr<StoreState> state = State();
    IndexSnapshot index = state->index->Snapshot();
    WriteBuffer::View buffer = state->buffer.CurrentView();
    KV_TRY(Reader reader, state->backend->NewReader());
    // A compaction published in between may by now have deleted records that the snapshot names.
    if (compact_revision() > index.mark().compact_revision) continue;
    return ReadView(std::move(state), std::move(index), std::move(buffer), std::move(reader),
                    counters_);
  }
}

Result<void> Store::LookAtDurable(
    const std::function<Result<void>(Snapshot& content)>& look) const {
  const std::shared_ptr<StoreState> state = State();
  KV_TRY(const Reader reader, state->backend->NewReader());
  return look(*reader);
}

Result<Store::DurableReader> Store::OpenDurable() const {
  std::shared_ptr<StoreState> state = State();
  KV_TRY(Reader reader, state->backend->NewReader());
  reader->OutlivesTask();
  return DurableReader{.owner = state, .reader = std::move(reader), .file_bytes = [state] {
                         return state->backend->SizeBytes();
                       }};
}

Result<Store::DurableSnapshot> Store::OpenSnapshot(const LookAtSnapshot& look) const {
  KV_TRY(DurableReader opened, OpenDurable());
  EtcdImageOptions image;
  if (look) {
    KV_TRY(image, look(*opened.reader));
  }
  KV_TRY(Recovered content, ReadRecovered(*opened.reader));
  return DurableSnapshot{.content = std::move(content),
                         .source = MakeSnapshotSource(std::move(opened.reader),
                                                      std::move(opened.owner), std::move(image)),
                         .file_bytes = std::move(opened.file_bytes)};
}

void Store::Defragment(std::move_only_function<void(Result<void>)> done) {
  counters_.defragmentations_running.fetch_add(1);
  committer_.Defragment([this, started = executors_.backend.clock().Now(),
                         done = std::move(done)](Result<void> result) mutable {
    sizes_.Refresh(committer_.backend());
    counters_.defragmentations_running.fetch_sub(1);
    counters_.defragment.Observe(executors_.backend.clock().Now() - started);
    done(std::move(result));
  });
}

Result<KvHash> Store::HashKv(std::int64_t revision) {
  const ObservedTime time(counters_.hash_kv, executors_.backend.clock());
  HashRun::Options options;
  while (true) {
    if (revision > 0) {
      if (const std::optional<KvHash> stored = hashes_.Find(revision)) return *stored;
    }
    KV_TRY(HashRun run, HashRun::Begin(*this, revision, options));
    Result<bool> is_done = false;
    while (is_done.has_value() && !*is_done) is_done = run.Step();
    if (is_done.has_value()) return run.Finish();
    if (!(is_done.error() == kReaderMustEnd)) return Fail(is_done.error());
    options.overtaken = HashRun::Overtaken::kKeepsView;
  }
}

Result<Store::BackendHash> Store::HashBackend() {
  const ObservedTime time(counters_.hash, executors_.backend.clock());
  while (true) {
    KV_TRY(ReadView view, Read());
    const Result<std::uint32_t> hash = view.HashBackend();
    if (hash.has_value()) return BackendHash{.hash = *hash, .revision = view.revision()};
    if (!(hash.error() == kReaderMustEnd)) return Fail(hash.error());
  }
}

Result<void> Store::ForEach(Bucket bucket,
                            const std::function<void(std::string_view, std::string_view)>& visit) {
  KV_CHECK(bucket != Bucket::kKey, "revisions are read through a view");
  const std::shared_ptr<StoreState> state = State();
  KV_TRY(const Reader reader, state->backend->NewReader());
  return ScanBucket(*reader, bucket,
                    [&](std::string_view key, std::string_view value) -> Result<void> {
                      visit(key, value);
                      return {};
                    });
}

void Store::PutBucket(Bucket bucket, std::string_view key, std::string_view value) {
  KV_CHECK(bucket != Bucket::kKey, "revisions are written by a txn");
  if (IsLongKey(bucket, key)) {
    const BucketRecord stored = StoredForm(key, value);
    state_->buffer.Put(bucket, stored.key, stored.value);
  } else {
    state_->buffer.Put(bucket, key, value);
  }
  dirty_ = true;
}

void Store::DeleteBucket(Bucket bucket, std::string_view key) {
  KV_CHECK(bucket != Bucket::kKey, "revisions are deleted by compaction");
  state_->buffer.Remove(bucket, IsLongKey(bucket, key) ? StoredKey(key) : std::string(key));
  dirty_ = true;
}

void Store::PutMeta(std::string_view key, std::uint64_t value) {
  const std::array<char, 8> bytes = EncodeNumber(value);
  state_->buffer.Put(Bucket::kMeta, key, std::string_view(bytes.data(), bytes.size()));
}

void Store::PutCompactMark(std::string_view key, std::int64_t revision) {
  PutBucket(Bucket::kMeta, key, RevisionKey({.main = revision, .sub = 0}).view());
}

Result<void> Store::Compact(std::int64_t revision, std::move_only_function<void()> on_finished) {
  KV_CHECK(!txn_open_, "a compaction within an open txn");
  if (revision <= revisions_.compacted()) {
    compactor_.WhenIdle(std::move(on_finished));
    return kErrCompacted.Fail();
  }
  if (revision > revisions_.working()) return kErrFutureRev.Fail();

  KV_FAILPOINT("compactBeforeCommitScheduledCompact");
  // HashKV(0) asks for the newest revision, so no hash may be stored under that number.
  const bool store_hash = compactor_.idle() && revision > 0;
  compactor_.Schedule(revision, revisions_.compacted(), store_hash, std::move(on_finished));
  revisions_.Compact(revision);
  PutCompactMark(meta_key::kScheduledCompact, revision);
  return {};
}

void Store::Publish(std::uint64_t consistent_index, std::uint64_t term) {
  KV_CHECK(!txn_open_, "a txn of the batch has not ended");
  KV_CHECK(!installing_, "a batch while a snapshot is installed");
  KV_CHECK(consistent_index >= consistent_index_, "the consistent index goes back");
  KV_CHECK(term >= term_, "the term of applied entries goes back");
  if (!dirty_ && consistent_index == consistent_index_ && term == term_) return;
  if (term != term_) PutMeta(meta_key::kTerm, term);
  PutMeta(meta_key::kConsistentIndex, consistent_index);
  consistent_index_ = consistent_index;
  term_ = term;
  dirty_ = false;
  std::optional<WriteBuffer::View> records = RecordsForListener();
  committer_.Publish(consistent_index);  // first: the index may only name records that the buffer
                                         // shows
  if (revisions_.hidden()) ShowRevisions(std::move(records));
  compactor_.OnPublished();
}

void Store::SetSideVersion(std::uint64_t version) { revisions_.SetSideVersion(version); }

std::uint64_t Store::shown_side_version() const {
  return State()->index->Snapshot().mark().side_version;
}

std::optional<WriteBuffer::View> Store::RecordsForListener() const {
  const bool wanted =
      listener_ != nullptr && working_revision() != revision() && listener_->WantsRecords();
  if (!wanted) return std::nullopt;
  return state_->buffer.StagedView();
}

void Store::ShowRevisions(std::optional<WriteBuffer::View> records) {
  const std::int64_t before = revision();
  PublishIndex();
  if (listener_ == nullptr || working_revision() == before) return;
  listener_->OnPublished(
      {.first = before + 1, .last = working_revision(), .records = std::move(records)});
}

void Store::PublishCompactMark(std::string_view key, std::int64_t revision) {
  const bool between_batches = !dirty_ && !txn_open_;
  PutCompactMark(key, revision);
  if (between_batches) Publish(consistent_index_, term_);
}

void Store::OnIndexCompacted() {
  revisions_.Hide();
  if (!dirty_ && !txn_open_) PublishIndex();
}

void Store::PublishIndex() {
  state_->index->Publish(revisions_.mark());
  revisions_.Show();
  counters_.live_keys.store(live_keys(), std::memory_order_relaxed);
  counters_.index_bytes.store(state_->index->reserved_bytes(), std::memory_order_relaxed);
  Reclaim();
}

void Store::Reclaim() {
  constexpr std::size_t kStep = 1024;
  if (reclaim_posted_ || !state_->index->Reclaim(kStep)) return;
  reclaim_posted_ = true;
  executors_.apply.Post([this] {
    reclaim_posted_ = false;
    Reclaim();
  });
}

void Store::WhenRoom(Task resume) {
  state_->buffer.WhenRoom(
      [this, resume = std::move(resume)]() mutable { executors_.apply.Post(std::move(resume)); });
}

void Store::Fatal(const Error& error) const {
  KV_CHECK(options_.commit.on_fatal, error.message);
  options_.commit.on_fatal(error);
}

void Store::CheckInvariants() const {
  state_->index->CheckInvariants();
  revisions_.CheckInvariants();
  KV_CHECK(compactor_.unfinished() <= revisions_.compacted(), "a compaction ran ahead");
  KV_CHECK(dirty_ || txn_open_ || revision() == working_revision(), "a published change is hidden");
}

}  // namespace kvorum::mvcc
