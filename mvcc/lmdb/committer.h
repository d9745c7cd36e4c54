// Moves the write buffer into the backend: one transaction every batch interval, or sooner when
// much is waiting, together with the bucket changes (consistent index, term, conf state …) that
// were published with it. Compaction's deletions and defragmentation run between these commits.
//
// Threads: Publish belongs to the apply executor, everything else may be called from any thread.
// All work runs on the backend executor, the long copy of a defragmentation on the copier; all
// callbacks run on the backend executor and may call back into the committer. Ownership: the owner
// stops both executors before it destroys the committer. Errors: a commit that meets a full disk
// STALLS the committer: the same commit is retried every second, and later requests wait behind it.
// Any other failed commit is reported once through on_fatal and the committer does nothing more: no
// later callback is called, since nothing more becomes durable. The owner ends the process. Bounds:
// the write buffer's own while stalled; its writer waits for room.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/write_buffer.h"

namespace kvorum::mvcc {

class Committer {
 public:
  using Callback = std::move_only_function<void()>;

  struct CommitStats {
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    Duration duration{};
  };
  struct Options {
    Duration batch_interval = std::chrono::milliseconds(100);
    std::uint64_t batch_operations = 10'000;
    std::uint64_t batch_bytes = std::uint64_t{8} << 20;
    // The consistent index of the last publish that a commit made durable.
    std::function<void(std::uint64_t)> on_durable;
    // Called with what a commit has made durable.
    std::function<void(const WriteBatch&)> on_written;
    // Called after each commit, for the metrics.
    std::function<void(const CommitStats&)> on_commit;
    std::function<void(const Error&)> on_fatal;
  };

  Committer(Backend& backend, WriteBuffer& buffer, Executor& executor, Executor& copier,
            Options options);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // Calls WriteBuffer::Publish, and commits within the batch interval. Called by the apply
  // executor. Two atomic operations unless a commit must be requested.
  void Publish(std::uint64_t consistent_index);

  // From now on everything goes from another buffer to another backend; pending work of the old
  // ones is dropped. Called on the backend executor, while the apply executor publishes nothing.
  // `owner` keeps both alive while work on them goes on. A running defragmentation starts over.
  void Retarget(Backend& backend, WriteBuffer& buffer, std::shared_ptr<const void> owner);
  // On the backend executor.
  const Backend& backend() const { return *backend_; }

  // Calls `done` once everything published before the call is durable.
  void Flush(Callback done);
  // The last call: commits everything published and calls `done`, on a full disk even without the
  // commit. Records that are not durable then come from the log again.
  void Close(Callback done);
  // A commit waits for space on the disk. Any thread.
  bool stalled() const { return stalled_.load(std::memory_order_relaxed); }

  // Deletes revisions from the backend in one transaction with everything that was published before
  // (so a revision that still waits in the buffer is deleted too), then calls `done`. Compaction
  // passes small batches (about 1,000) and pauses between them; changes published before the last
  // batch, such as the mark that a compaction finished, are durable with it. Called on the backend
  // executor; nothing happens if it is retargeted before they are done.
  void PostDeletions(std::vector<Revision> revisions, Callback done);

  // Commits everything published, then rewrites the backend's file without its free pages while
  // reads and commits go on. A call during a run gets a separate run after it, shared with others
  // that wait. An error, such as a full disk, leaves the backend in service as it was.
  void Defragment(std::move_only_function<void(Result<void>)> done);

 private:
  using DefragmentDone = std::move_only_function<void(Result<void>)>;

  static constexpr std::size_t kMaxWaitingDefragments = 128;

  enum class Outcome : std::uint8_t {
    kCommitted,
    kStalled,  // now or before
    kFailed,   // now or before
  };
  Outcome CommitPublished(std::vector<Revision> deletions);
  Outcome Commit(WriteBuffer::Taken taken);
  // Runs the task now or, if the committer is stalled, after the stall.
  void RunUnstalled(Callback task);
  // Calls `done` when the commit's content is durable.
  void WhenCommitted(Outcome outcome, Callback done);
  void Delete(const Backend* target, std::vector<Revision> revisions, Callback done);
  void Stall(WriteBuffer::Taken taken, const Error& error);
  void RetryLater();
  void Retry();
  void EndStall();
  void Fail(const Error& error);
  void StartDefragment();
  void FinishDefragment(std::unique_ptr<DefragmentCopy> copy, Result<void> copied,
                        const Backend* source);
  void AnswerDefragment(const Result<void>& result);

  // State of the backend executor, except that the apply executor publishes to the buffer.
  Backend* backend_;
  WriteBuffer* buffer_;
  std::shared_ptr<const void> owner_;
  Executor& executor_;
  Executor& copier_;
  const Options options_;

  std::atomic<bool> timer_armed_{false};
  std::atomic<bool> commit_posted_{false};

  std::atomic<bool> stalled_{false};

  // State of the backend executor.
  bool failed_ = false;
  std::optional<WriteBuffer::Taken> unwritten_;  // while stalled
  std::vector<Callback> after_stall_;            // few, since their callers wait
  bool retry_armed_ = false;
  // Those that wait for the present run, and those for the next one.
  std::vector<DefragmentDone> running_;
  std::vector<DefragmentDone> waiting_;
};

}  // namespace kvorum::mvcc
