#include "mvcc/store/index_saver.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/background/aside.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "mvcc/index/index_file_writer.h"
#include "mvcc/records/bucket.h"
#include "mvcc/store/store.h"
#include "mvcc/store/store_state.h"

namespace kvorum::mvcc {
namespace {

constexpr std::size_t kAttachmentsPerTask = 1'000;
// A batch is open; it ends within a task or few.
constexpr Duration kOpenBatchRetry = std::chrono::milliseconds(1);
constexpr int kPausesAfterFailure = 60;

struct AttachedKey {
  std::string key;
  std::int64_t lease = 0;
  friend bool operator<(const AttachedKey& a, const AttachedKey& b) { return a.key < b.key; }
};

// Answers for ascending keys.
class AttachmentCursor {
 public:
  explicit AttachmentCursor(std::vector<AttachedKey> attached) : attached_(std::move(attached)) {
    std::ranges::sort(attached_, std::less<>());
  }
  std::int64_t LeaseOf(std::string_view key) {
    while (next_ < attached_.size() && attached_[next_].key < key) ++next_;
    const bool is_attached = next_ < attached_.size() && attached_[next_].key == key;
    return is_attached ? attached_[next_].lease : 0;
  }

 private:
  std::vector<AttachedKey> attached_;
  std::size_t next_ = 0;
};

}  // namespace

// Goes from one executor to the next. Its end frees the writer, then the snapshot, then the state.
struct IndexSaver::Run {
  Run(std::shared_ptr<StoreState> s, IndexSnapshot i) : state(std::move(s)), index(std::move(i)) {}

  const std::shared_ptr<StoreState> state;
  const IndexSnapshot index;
  IndexBinding binding;
  std::uint64_t changed = 0;  // before it
  TimePoint started;
  std::atomic<bool> is_cancelled = false;
  std::vector<AttachedKey> attached;
  std::optional<AttachmentCursor> attachments;
  std::optional<IndexFileWriter> writer;
  std::uint64_t synced_bytes = 0;
};

IndexSaver::IndexSaver(Store& store, IndexKeeper& keeper)
    : store_(store), keeper_(keeper), options_(keeper.options().saving) {}
IndexSaver::~IndexSaver() = default;

void IndexSaver::Begin(std::uint64_t records, std::int64_t file_revision,
                       std::uint64_t later_records) {
  records_ = records;
  saved_revision_ = file_revision;
  changed_ = file_revision > 0 ? later_records : records;
  newest_dropped_ = 0;
  not_before_ = store_.executors_.backend.clock().Now() + options_.pause;
  ShowCosts();
}

// ---- backend executor ----

void IndexSaver::OnWritten(const WriteBatch& batch) {
  std::uint64_t appended = 0;
  for (const auto& records : batch.appends) appended += records.size();
  records_ += appended;
  records_ -= std::min<std::uint64_t>(records_, batch.deletions.size());
  changed_ += appended;
  ShowCosts();
  Look();
}

void IndexSaver::OnDeletionDropped(std::int64_t revision) {
  newest_dropped_ = std::max(newest_dropped_, revision);
}

void IndexSaver::OnReplaced(std::uint64_t records) { Begin(records, /*file_revision=*/0, 0); }

void IndexSaver::ShowCosts() const {
  StoreCounters& counters = store_.counters_;
  counters.saved_index_revision.store(IsInEffect() ? saved_revision_ : 0,
                                      std::memory_order_relaxed);
  counters.later_records.store(IsInEffect() ? changed_ : records_, std::memory_order_relaxed);
}

bool IndexSaver::IsDue() const {
  if (!keeper_.is_on() || !options_.is_on || records_ < options_.least_records) return false;
  return !IsInEffect() || changed_ >= std::max<std::uint64_t>(records_ / options_.share, 1);
}

void IndexSaver::Look() {
  if (is_running_ || is_timer_armed_ || !IsDue()) return;
  Executor& backend = store_.executors_.backend;
  if (backend.clock().Now() < not_before_) {
    is_timer_armed_ = true;
    backend.PostAt(not_before_, [this] {
      is_timer_armed_ = false;
      Look();
    });
    return;
  }
  is_running_ = true;
  store_.executors_.apply.Post([this, changed = changed_] { Start(changed); });
}

void IndexSaver::Rest(Duration pause) {
  is_running_ = false;
  not_before_ = store_.executors_.backend.clock().Now() + std::max<Duration>(options_.pause, pause);
  ShowCosts();
}

void IndexSaver::Finish(const std::shared_ptr<Run>& run) {
  if (run->is_cancelled) return GiveUp(run, nullptr);
  KV_FAILPOINT("saveIndexServingBeforeFinish");
  const std::string& path = keeper_.options().database_path;
  const Result<IndexFileSize> saved = run->writer->Finish(path);
  if (!saved.has_value()) return GiveUp(run, &saved.error());
  run->writer.reset();  // here, and not on apply, which lets the rest go
  saved_revision_ = run->binding.revision;
  changed_ -= std::min(changed_, run->changed);
  const Duration took = store_.executors_.backend.clock().Now() - run->started;
  KV_INFO("saved the key index while serving", {"path", IndexFilePath(path)}, {"keys", saved->keys},
          {"revision", saved_revision_}, {"bytes", saved->bytes}, {"took", FormatDuration(took)});
  store_.counters_.saved_index_bytes.fetch_add(saved->bytes, std::memory_order_relaxed);
  LetGo(run);
  Rest(options_.pauses * took);
  Look();  // enough may have come meanwhile, and nothing more
}

// ---- apply executor ----

void IndexSaver::Cancel() {
  if (run_ != nullptr) run_->is_cancelled = true;
  run_ = nullptr;
}

void IndexSaver::End() {
  has_ended_ = true;
  Cancel();
}

void IndexSaver::PutMark(const std::string& mark) {
  marks_ = AddIndexMark(mark, marks_);
  store_.PutBucket(Bucket::kMeta, meta_key::kIndexMark, marks_);
}

void IndexSaver::Start(std::uint64_t changed) {
  Executor& backend = store_.executors_.backend;
  if (has_ended_ || store_.installing_) {
    backend.Post([this] { Rest({}); });
    return;
  }
  if (!keeper_.MaySave()) {
    // The database is damaged: the next start is to read it.
    backend.Post([this] {
      keeper_.Remove();
      saved_revision_ = 0;
      Rest(kPausesAfterFailure * options_.pause);
    });
    return;
  }
  if (HasTooManyAttachments()) {
    if (!std::exchange(told_of_attachments_, true))
      KV_WARN("the key index is not saved while serving: too many keys are attached to leases",
              {"most", options_.most_attachments});
    backend.Post([this] { Rest(kPausesAfterFailure * options_.pause); });
    return;
  }
  told_of_attachments_ = false;
  run_ = std::make_shared<Run>(store_.state_, store_.state_->index->Snapshot());
  const IndexMark& mark = run_->index.mark();
  run_->binding = {.mark = keeper_.NewMark(),
                   .revision = mark.current_revision,
                   .compact_revision = mark.compact_revision};
  run_->changed = changed;
  run_->started = store_.executors_.apply.clock().Now();
  CopyAttachments(run_, 0);
}

bool IndexSaver::HasTooManyAttachments() const {
  const IndexAttachments& all = keeper_.options().attachments;
  return all.count && all.count() > options_.most_attachments;
}

void IndexSaver::CopyAttachments(const std::shared_ptr<Run>& run, std::size_t part) {
  if (run->is_cancelled) return GiveUp(run, nullptr);
  const IndexAttachments& all = keeper_.options().attachments;
  const std::size_t count = all.count ? all.count() : 0;
  if (HasTooManyAttachments()) {
    const Error error{Code::kResourceExhausted, "too many keys are attached to leases"};
    return GiveUp(run, &error);
  }
  const std::size_t enough = run->attached.size() + kAttachmentsPerTask;
  while (part < all.parts && count > 0 && run->attached.size() < enough)
    all.visit_part(part++, [&run](std::string_view key, std::int64_t lease) {
      run->attached.push_back({.key = std::string(key), .lease = lease});
    });
  if (part < all.parts && count > 0) {
    store_.executors_.apply.Post([this, run, part] { CopyAttachments(run, part); });
  } else {
    store_.executors_.copier.Post([this, run] { OpenFile(run); });
  }
}

void IndexSaver::Publish(const std::shared_ptr<Run>& run) {
  if (run->is_cancelled) return GiveUp(run, nullptr);
  if (store_.dirty_ || store_.txn_open_) {
    Executor& apply = store_.executors_.apply;
    apply.PostAt(apply.clock().Now() + kOpenBatchRetry, [this, run] { Publish(run); });
    return;
  }
  PutMark(run->binding.mark);
  store_.Publish(store_.consistent_index_, store_.term_);
  store_.committer_.Flush([this, run] { Finish(run); });
}

// ---- copier ----

void IndexSaver::OpenFile(const std::shared_ptr<Run>& run) {
  if (run->is_cancelled) return GiveUp(run, nullptr);
  FileSystem& files = *keeper_.options().files;
  const std::string& path = keeper_.options().database_path;
  const Result<std::uint64_t> free = files.FreeSpace(ParentDirectory(path));
  if (!free.has_value()) return GiveUp(run, &free.error());
  if (*free < options_.free_bytes) {
    const Error error{Code::kResourceExhausted, "the disk has too little space"};
    return GiveUp(run, &error);
  }
  run->attachments.emplace(std::move(run->attached));
  auto writer = IndexFileWriter::Open(files, NextIndexFilePath(path),
                                      {.view = run->index.view(),
                                       .binding = run->binding,
                                       .lease_of = [at = run.get()](std::string_view key) {
                                         return at->attachments->LeaseOf(key);
                                       }});
  if (!writer.has_value()) return GiveUp(run, &writer.error());
  run->writer.emplace(*std::move(writer));
  WritePiece(run);
}

void IndexSaver::WritePiece(const std::shared_ptr<Run>& run) {
  if (run->is_cancelled) return GiveUp(run, nullptr);
  KV_FAILPOINT("saveIndexServingPiece");
  Result<bool> is_more = false;
  RunAside([&] { is_more = run->writer->WriteBlock(options_.piece_bytes); });
  if (!is_more.has_value()) return GiveUp(run, &is_more.error());
  if (!*is_more) {
    run->attachments.reset();
    store_.executors_.apply.Post([this, run] { Publish(run); });
    return;
  }
  if (run->writer->size_bytes() - run->synced_bytes >= options_.sync_bytes) {
    const Result<void> synced = run->writer->Sync();
    if (!synced.has_value()) return GiveUp(run, &synced.error());
    run->synced_bytes = run->writer->size_bytes();
  }
  Executor& copier = store_.executors_.copier;
  copier.PostAt(copier.clock().Now() + options_.piece_interval, [this, run] { WritePiece(run); });
}

// The snapshot keeps memory.
void IndexSaver::LetGo(const std::shared_ptr<Run>& run) {
  store_.executors_.apply.Post([this, run] {
    if (run_ == run) run_ = nullptr;
  });
}

void IndexSaver::GiveUp(const std::shared_ptr<Run>& run, const Error* error) {
  if (error != nullptr)
    KV_WARN("failed to save the key index while serving; a start after a kill reads more records",
            {"path", NextIndexFilePath(keeper_.options().database_path)},
            {"error", error->message});
  // Its space may be what is missing.
  if (run->writer.has_value())
    static_cast<void>(
        keeper_.options().files->Remove(NextIndexFilePath(keeper_.options().database_path)));
  // Its mark would take the place of one that is in effect.
  store_.executors_.apply.Post([this, run] { marks_ = DropIndexMark(run->binding.mark, marks_); });
  LetGo(run);
  const Duration rest = error != nullptr ? kPausesAfterFailure * options_.pause : Duration{};
  store_.executors_.backend.Post([this, rest] { Rest(rest); });
}

}  // namespace kvorum::mvcc
