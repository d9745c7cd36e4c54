// Moves the write buffer into the backend: one transaction every batch interval, or sooner when
// much is waiting, together with the bucket changes (consistent index, term, conf state …) that
// were published with it. Compaction's deletions and defragmentation run between these commits.
//
// Threads: Publish belongs to the apply executor, everything else may be called from any thread.
// All work runs on the backend executor, the long copy of a defragmentation on the copier; all
// callbacks run on the backend executor and may call back into the committer.
// Ownership: the owner stops both executors before it destroys the committer.
// Errors: a commit that meets a full disk STALLS the committer: the same commit is tried again
// every second, and what was asked for meanwhile waits behind it. Any other failed commit is
// reported once through on_fatal and the committer does nothing more: no later callback is called,
// since nothing more becomes durable. The owner ends the process. Bounds: the write buffer's own
// while stalled; its writer waits for room.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"
#include "mvcc/backend.h"
#include "mvcc/write_buffer.h"

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
    // After each commit, for the metrics.
    std::function<void(const CommitStats&)> on_commit;
    std::function<void(const Error&)> on_fatal;
  };

  Committer(Backend& backend, WriteBuffer& buffer, Executor& executor, Executor& copier,
            Options options);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // WriteBuffer::Publish, and a commit within the batch interval. Called by the apply executor. Two
  // atomic operations unless a commit must be asked for.
  void Publish(std::uint64_t consistent_index);

  // From now on everything goes to another backend, out of another buffer; what the old ones still
  // had to do is dropped. Called on the backend executor, while the apply executor publishes
  // nothing. `owner` keeps both alive for as long as work on them goes on. A defragmentation that
  // runs begins anew.
  void Retarget(Backend& backend, WriteBuffer& buffer, std::shared_ptr<const void> owner);
  // On the backend executor.
  const Backend& backend() const { return *backend_; }

  // Calls `done` once everything published before the call is durable.
  void Flush(Callback done);
  // The last call: commits what is published and calls `done`, or on a full disk calls it all the
  // same. What is not durable then comes from the log again.
  void Close(Callback done);
  // A commit waits for space on the disk. Any thread.
  bool stalled() const { return stalled_.load(std::memory_order_relaxed); }

  // Deletes revisions from the backend in one transaction with everything that was published before
  // (so a revision that still waits in the buffer is deleted too), then calls `done`. Compaction
  // hands over small batches (about 1,000) and pauses between them; changes published before the
  // last batch, such as the mark that a compaction finished, are durable with it. Called on the
  // backend executor; nothing happens if it is retargeted before they are done.
  void PostDeletions(std::vector<Revision> revisions, Callback done);

  // Commits what is published, then rewrites the backend's file without its free pages while reads
  // and commits go on. A call during a run gets a run of its own after it, shared with the others
  // that wait. An error leaves the backend in service as it was; a full disk is one.
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
  // The task runs now, unless the committer is stalled: then behind what it waits for.
  void RunUnstalled(Callback task);
  // Calls `done` when what the commit took is durable.
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

  // Of the backend executor; but the apply executor publishes to the buffer.
  Backend* backend_;
  WriteBuffer* buffer_;
  std::shared_ptr<const void> owner_;
  Executor& executor_;
  Executor& copier_;
  const Options options_;

  std::atomic<bool> timer_armed_{false};
  std::atomic<bool> commit_posted_{false};

  std::atomic<bool> stalled_{false};

  // Of the backend executor.
  bool failed_ = false;
  std::optional<WriteBuffer::Taken> unwritten_;  // while stalled
  std::vector<Callback> after_stall_;            // their askers wait, so that they are few
  bool retry_armed_ = false;
  // Who waits for the run that is on, and who for the one after it.
  std::vector<DefragmentDone> running_;
  std::vector<DefragmentDone> waiting_;
};

}  // namespace kvorum::mvcc
