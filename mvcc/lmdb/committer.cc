#include "mvcc/lmdb/committer.h"

#include <utility>

#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"

namespace kvorum::mvcc {
namespace {

constexpr Duration kFullDiskRetry = std::chrono::seconds(1);

Result<void> FullDisk() {
  return Fail(Code::kResourceExhausted, "mvcc: the disk of the database is full");
}

}  // namespace

Committer::Committer(Backend& backend, WriteBuffer& buffer, Executor& executor, Executor& copier,
                     Options options)
    : backend_(&backend),
      buffer_(&buffer),
      executor_(executor),
      copier_(copier),
      options_(std::move(options)) {}

void Committer::Publish(std::uint64_t consistent_index) {
  const WriteBuffer::Waiting waiting = buffer_->Publish(consistent_index);
  const bool much = waiting.operations >= options_.batch_operations ||
                    waiting.bytes >= options_.batch_bytes || buffer_->OverLimit();
  if (much && !commit_posted_.exchange(true)) {
    executor_.Post([this] {
      // Before the commit takes the published records, so that a later publish requests another
      // commit.
      commit_posted_.store(false);
      CommitPublished({});
    });
  }
  if (!timer_armed_.load() && !timer_armed_.exchange(true)) {
    executor_.PostAt(executor_.clock().Now() + options_.batch_interval, [this] {
      timer_armed_.store(false);
      CommitPublished({});
    });
  }
}

void Committer::Retarget(Backend& backend, WriteBuffer& buffer, std::shared_ptr<const void> owner) {
  backend_ = &backend;
  buffer_ = &buffer;
  owner_ = std::move(owner);
  // The commit that waits for space belongs to the old content.
  if (unwritten_.has_value()) EndStall();
}

void Committer::Flush(Callback done) {
  executor_.Post([this, done = std::move(done)]() mutable {
    RunUnstalled([this, done = std::move(done)]() mutable {
      WhenCommitted(CommitPublished({}), std::move(done));
    });
  });
}

void Committer::Close(Callback done) {
  executor_.Post([this, done = std::move(done)]() mutable {
    if (unwritten_.has_value()) Retry();
    if (CommitPublished({}) != Outcome::kFailed) done();
  });
}

void Committer::PostDeletions(std::vector<Revision> revisions, Callback done) {
  executor_.Post([this, target = backend_, revisions = std::move(revisions),
                  done = std::move(done)]() mutable {
    RunUnstalled(
        [this, target, revisions = std::move(revisions), done = std::move(done)]() mutable {
          Delete(target, std::move(revisions), std::move(done));
        });
  });
}

void Committer::Delete(const Backend* target, std::vector<Revision> revisions, Callback done) {
  if (backend_ != target) return;
  WhenCommitted(CommitPublished(std::move(revisions)),
                [this, target, done = std::move(done)]() mutable {
                  if (backend_ == target) done();
                });
}

void Committer::RunUnstalled(Callback task) {
  if (unwritten_.has_value()) {
    after_stall_.push_back(std::move(task));
  } else {
    task();
  }
}

void Committer::WhenCommitted(Outcome outcome, Callback done) {
  switch (outcome) {
    case Outcome::kCommitted:
      return done();
    case Outcome::kStalled:
      after_stall_.push_back(std::move(done));
      return;
    case Outcome::kFailed:
      return;
  }
}

Committer::Outcome Committer::CommitPublished(std::vector<Revision> deletions) {
  if (failed_) return Outcome::kFailed;
  if (unwritten_.has_value()) return Outcome::kStalled;
  KV_FAILPOINT("commitBeforePreCommitHook");
  WriteBuffer::Taken taken = buffer_->Take();
  KV_FAILPOINT("commitAfterPreCommitHook");
  taken.operations += deletions.size();
  taken.batch.deletions = std::move(deletions);
  return Commit(std::move(taken));
}

Committer::Outcome Committer::Commit(WriteBuffer::Taken taken) {
  if (!taken.batch.empty()) {
    const TimePoint start = executor_.clock().Now();
    if (const Result<void> committed = backend_->Commit(taken.batch); !committed.has_value()) {
      if (committed.error().code == Code::kResourceExhausted) {
        Stall(std::move(taken), committed.error());
        return Outcome::kStalled;
      }
      Fail(committed.error());
      return Outcome::kFailed;
    }
    const Duration duration = executor_.clock().Now() - start;
    if (options_.on_written) options_.on_written(taken.batch);
    KV_FAILPOINT("beforeWritebackBuf");
    buffer_->Release(taken);
    KV_FAILPOINT("afterWritebackBuf");
    if (options_.on_commit) options_.on_commit({taken.operations, taken.bytes, duration});
  }
  if (taken.consistent_index.has_value() && options_.on_durable) {
    options_.on_durable(*taken.consistent_index);
  }
  return Outcome::kCommitted;
}

// ---- a full disk ----

void Committer::Stall(WriteBuffer::Taken taken, const Error& error) {
  if (!stalled_.load(std::memory_order_relaxed)) {
    KV_ERROR("the disk of the database is full; this member goes on without writing to it",
             {"error", error.message}, {"operations", taken.operations});
  }
  unwritten_ = std::move(taken);
  stalled_.store(true, std::memory_order_relaxed);
  RetryLater();
}

void Committer::RetryLater() {
  if (std::exchange(retry_armed_, true)) return;
  executor_.PostAt(executor_.clock().Now() + kFullDiskRetry, [this] {
    retry_armed_ = false;
    if (unwritten_.has_value()) Retry();
  });
}

void Committer::Retry() {
  WriteBuffer::Taken taken = *std::exchange(unwritten_, std::nullopt);
  if (Commit(std::move(taken)) != Outcome::kCommitted) return;
  KV_INFO("the disk of the database has space again");
  EndStall();
}

// Batches published meanwhile are committed first: their timer has passed.
void Committer::EndStall() {
  unwritten_.reset();
  stalled_.store(false, std::memory_order_relaxed);
  CommitPublished({});
  for (Callback& task : std::exchange(after_stall_, {})) RunUnstalled(std::move(task));
}

void Committer::Fail(const Error& error) {
  failed_ = true;
  if (options_.on_fatal) options_.on_fatal(error);
}

// ---- defragmentation ----

void Committer::Defragment(DefragmentDone done) {
  executor_.Post([this, done = std::move(done)]() mutable {
    if (failed_) return;
    if (unwritten_.has_value()) return done(FullDisk());
    if (!running_.empty()) {
      if (waiting_.size() >= kMaxWaitingDefragments) {
        done(kvorum::Fail(Code::kResourceExhausted, "mvcc: too many defragmentations are waiting"));
        return;
      }
      waiting_.push_back(std::move(done));
      return;
    }
    running_.push_back(std::move(done));
    StartDefragment();
  });
}

void Committer::StartDefragment() {
  const Outcome outcome = CommitPublished({});
  if (outcome == Outcome::kFailed) return;
  if (outcome == Outcome::kStalled) return AnswerDefragment(FullDisk());
  Result<std::unique_ptr<DefragmentCopy>> copy = backend_->StartDefragment();
  if (!copy.has_value()) {
    AnswerDefragment(kvorum::Fail(copy.error()));
    return;
  }
  copier_.Post([this, source = backend_, owner = owner_, copy = std::move(*copy)]() mutable {
    Result<void> copied = copy->Copy();
    executor_.Post([this, source, owner = std::move(owner), copy = std::move(copy),
                    copied = std::move(copied)]() mutable {
      FinishDefragment(std::move(copy), std::move(copied), source);
    });
  });
}

void Committer::FinishDefragment(std::unique_ptr<DefragmentCopy> copy, Result<void> copied,
                                 const Backend* source) {
  if (failed_) return;
  if (source != backend_) {
    copy.reset();  // of a file that was replaced
    StartDefragment();
    return;
  }
  if (!copied.has_value()) {
    copy.reset();
    AnswerDefragment(copied);
    return;
  }
  const Outcome outcome = CommitPublished({});
  if (outcome == Outcome::kFailed) return;
  if (outcome == Outcome::kStalled) {
    copy.reset();  // its space may be what is missing
    AnswerDefragment(FullDisk());
    return;
  }
  const auto finished = backend_->FinishDefragment(std::move(copy));
  if (finished.has_value()) {
    AnswerDefragment({});
  } else if (finished.error().fatal) {
    Fail(finished.error().error);
  } else {
    AnswerDefragment(kvorum::Fail(finished.error().error));
  }
}

void Committer::AnswerDefragment(const Result<void>& result) {
  for (DefragmentDone& done : std::exchange(running_, {})) done(result);
  if (!running_.empty() || waiting_.empty()) return;
  running_ = std::exchange(waiting_, {});
  StartDefragment();
}

}  // namespace kvorum::mvcc
