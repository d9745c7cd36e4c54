#include "mvcc/store/compaction.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "base/metric.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/key_value.h"
#include "mvcc/store/history_sum.h"
#include "mvcc/store/store.h"

namespace kvorum::mvcc {
namespace {

// Records examined per batch, as a multiple of the most that are deleted: records that stay cost no
// commit, but still time on the backend executor.
constexpr std::size_t kScanFactor = 10;

constexpr std::size_t kLeastBatch = 1'000;
constexpr std::size_t kMostBatch = 10'000;  // a commit of a few milliseconds
// A longer compaction has larger batches rather than more of them, up to kMostBatch and as long as
// its values are small.
constexpr std::size_t kBatches = 500;

std::string DurationText(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3fms", static_cast<double>(duration.count()) / 1e6);
  return text.data();
}

}  // namespace

std::size_t CompactionOptions::BatchLimit(std::int64_t revisions) const {
  return batch_limit.value_or(
      std::clamp(static_cast<std::size_t>(revisions) / kBatches, kLeastBatch, kMostBatch));
}

struct Compactor::Job {
  Job(std::int64_t r, std::int64_t p, bool store) : revision(r), previous(p), store_hash(store) {}

  std::int64_t revision;        // grows until its start
  const std::int64_t previous;  // the previous compaction
  const bool store_hash;
  std::size_t batch_limit = 0;  // from its start on
  std::size_t batch_bytes = 0;
  std::atomic<bool> abandoned = false;
  std::shared_ptr<StoreState> state;  // from its start on
  bool published = false;
  std::vector<Callback> waiters;
  // State of the apply executor until the index is done, then of the backend executor, and of the
  // apply executor again at the end.
  TimePoint started;
  KeyIndex::CompactProgress index;
  std::optional<KvHasher> hasher;  // from the first batch on
  Revision next;
  std::vector<Revision> deletions;
  std::uint64_t deleted = 0;
  HistorySum::Unread for_pass;
  HistorySum::Compacted compacted;
};

Compactor::Compactor(Store& store) : store_(store) {}
Compactor::~Compactor() = default;

void Compactor::Schedule(std::int64_t revision, std::int64_t previous, bool store_hash,
                         Callback on_finished) {
  const std::size_t started = running_ ? 1 : 0;
  if (jobs_.size() > started) {
    jobs_.back()->revision = revision;
    jobs_.back()->published = false;
  } else {
    jobs_.push_back(std::make_shared<Job>(revision, previous, store_hash));
  }
  if (on_finished) jobs_.back()->waiters.push_back(std::move(on_finished));
}

void Compactor::WhenIdle(Callback on_finished) {
  if (!on_finished) return;
  if (jobs_.empty()) {
    store_.executors_.apply.Post(std::move(on_finished));
  } else {
    jobs_.back()->waiters.push_back(std::move(on_finished));
  }
}

void Compactor::OnPublished() {
  for (const auto& job : jobs_) job->published = true;
  StartNext();
}

std::vector<Compactor::Callback> Compactor::Abandon() {
  std::vector<Callback> waiters;
  for (const auto& job : jobs_) {
    job->abandoned = true;
    for (Callback& waiter : job->waiters) waiters.push_back(std::move(waiter));
  }
  jobs_.clear();
  running_ = false;
  return waiters;
}

std::int64_t Compactor::unfinished() const { return jobs_.empty() ? -1 : jobs_.front()->revision; }

void Compactor::StartNext() {
  if (running_ || jobs_.empty() || !jobs_.front()->published) return;
  running_ = true;
  const std::shared_ptr<Job>& job = jobs_.front();
  const CompactionOptions& options = store_.options_.compaction;
  job->batch_limit = options.BatchLimit(job->revision - std::max<std::int64_t>(job->previous, 0));
  job->batch_bytes = options.batch_bytes;
  job->state = store_.state_;
  job->for_pass = store_.history_sum_.CompactionBegins(job->revision);
  job->started = store_.executors_.apply.clock().Now();
  store_.executors_.apply.Post([this, job] { StepIndex(job); });
}

void Compactor::StepIndex(const std::shared_ptr<Job>& job) {
  if (job->abandoned) return;
  {
    const ObservedTime pause(store_.counters_.index_compaction_pause,
                             store_.executors_.apply.clock());
    job->state->index->CompactStep(job->revision, store_.options_.compaction.index_step,
                                   job->index);
  }
  store_.OnIndexCompacted();
  if (!job->index.done) {
    store_.executors_.apply.Post([this, job] { StepIndex(job); });
    return;
  }
  job->started = store_.executors_.apply.clock().Now();
  store_.committer_.Flush([this, job] {
    KV_FAILPOINT("compactAfterCommitScheduledCompact");
    DeleteBatch(job);
  });
}

// On the backend executor.
void Compactor::DeleteBatch(const std::shared_ptr<Job>& job) {
  if (job->abandoned) return;
  const ObservedTime pause(store_.counters_.compaction_pause, store_.executors_.backend.clock());
  const Result<bool> at_end = CollectBatch(*job);
  if (!at_end) {
    store_.Fatal(at_end.error());
    return;
  }
  auto go_on = [this, job, done = *at_end] {
    KV_FAILPOINT("compactAfterCommitBatch");
    if (done) {
      store_.executors_.apply.Post([this, job] { Finish(job); });
      return;
    }
    Executor& backend = store_.executors_.backend;
    backend.PostAt(backend.clock().Now() + store_.options_.compaction.pause,
                   [this, job] { DeleteBatch(job); });
  };
  if (job->deletions.empty()) return go_on();
  KV_FAILPOINT("compactBeforeCommitBatch");
  store_.committer_.PostDeletions(std::exchange(job->deletions, {}), std::move(go_on));
}

// Hashes the records of the next batch and lists those to delete. Returns true if it was the last
// batch.
Result<bool> Compactor::CollectBatch(Job& job) {
  const IndexSnapshot index = job.state->index->Snapshot();
  if (!job.hasher.has_value())
    job.hasher = KvHasher::ForCompaction(job.previous, job.revision, index.view());
  KV_TRY(const Reader reader, job.state->backend->OpenReader(ReaderPlace::kReserved));
  KV_FAILPOINT("compactAfterAcquiredBatchTxLock");
  std::size_t seen = 0;
  std::size_t seen_bytes = 0;
  bool more = false;
  Result<void> collected;
  KV_RETURN_IF_ERROR(reader->ScanRevisions(
      job.next, {.main = job.revision + 1, .sub = 0}, [&](const RevisionRecord& record) {
        if (job.deletions.size() == job.batch_limit || seen == job.batch_limit * kScanFactor ||
            seen_bytes >= job.batch_bytes) {
          job.next = record.revision;
          more = true;
          return false;
        }
        ++seen;
        seen_bytes += record.value.size();
        collected = Collect(index.view(), job, record);
        return collected.has_value();
      }));
  KV_RETURN_IF_ERROR(collected);
  job.deleted += job.deletions.size();
  return !more;
}

Result<void> Compactor::Collect(const IndexView& index, Job& job, const RevisionRecord& record) {
  KV_RETURN_IF_ERROR(job.hasher->Add(index, record));
  // A watcher that starts at the compacted revision must see its deletes, even one that the same
  // txn has undone by a put.
  if (record.tombstone && record.revision.main == job.revision) {
    job.compacted.Keep(job.for_pass, record);
    return {};
  }
  KV_TRY(const KeyValue kv, DecodeKeyValue(record.value));
  if (!index.IsKept(kv.key, record.revision, job.revision, KeepRule::kCompaction)) {
    job.deletions.push_back(record.revision);
    if (record.tombstone) store_.saver_.OnDeletionDropped(record.revision.main);
    job.compacted.Drop(job.for_pass, record);
  } else {
    job.compacted.Keep(job.for_pass, record);
  }
  return {};
}

// Only after all deletions are durable: a crash before the mark is durable repeats some of them,
// which finds none missing.
void Compactor::Finish(const std::shared_ptr<Job>& job) {
  if (job->abandoned) return;
  jobs_.pop_front();
  KV_FAILPOINT("compactBeforeSetFinishedCompact");
  store_.PublishCompactMark(meta_key::kFinishedCompact, job->revision);
  KV_FAILPOINT("compactAfterSetFinishedCompact");
  running_ = false;
  store_.history_sum_.CompactionEnds(job->revision, job->compacted);
  const KvHash hash = job->hasher->Finish();
  if (job->store_hash) {
    KV_INFO("storing new hash", {"hash", hash.hash}, {"revision", hash.revision},
            {"compact-revision", hash.compact_revision});
    store_.hashes_.Store(hash);
  }
  const Clock& clock = store_.executors_.apply.clock();
  store_.counters_.AddCompacted(job->deleted);
  store_.counters_.compaction.Observe(clock.Now() - job->started);
  store_.counters_.last_compaction_unix_s = clock.WallNanos() / 1'000'000'000;
  KV_INFO("finished scheduled compaction", {"compact-revision", job->revision},
          {"took", DurationText(clock.Now() - job->started)},
          {"number-of-keys-compacted", job->deleted}, {"hash", hash.hash},
          {"current-db-size-bytes", store_.SizeBytes()},
          {"current-db-size-in-use-bytes", store_.SizeInUseBytes()});
  for (Callback& waiter : job->waiters) waiter();
  StartNext();
}

}  // namespace kvorum::mvcc
