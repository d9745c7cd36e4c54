// The multi-version key-value store: an index of every key's revisions in memory, recent revisions
// in the write buffer, all of them in the backend.
//
//   store.Begin() … txn.End()      one log entry, on the apply executor
//   store.Publish(index, term)     after a batch of entries: readers see it, and one backend commit
//                                  makes it durable together with the consistent index
//   store.Read()                   a state to read, on any thread
//
// Threads: three groups below say who may call.
// Ownership: owns index, write buffer, backend and committer. The owner stops the executors before
// it destroys the store; what they had not run by then (callbacks too) is dropped.
// Errors: refusals are those of mvcc/errors.h. A commit that fails is reported through
// StoreOptions::commit.on_fatal; a damaged record that the apply executor needs stops the process.
// Invariants (CheckInvariants): the index's own; the published revision is at most the working one
// and at least the compacted one; an unfinished compaction is at or below the compacted revision.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"
#include "mvcc/backend.h"
#include "mvcc/committer.h"
#include "mvcc/compaction.h"
#include "mvcc/errors.h"
#include "mvcc/hash.h"
#include "mvcc/key_index.h"
#include "mvcc/requests.h"
#include "mvcc/store_counters.h"
#include "mvcc/store_txn.h"
#include "mvcc/store_view.h"
#include "mvcc/txn.h"
#include "mvcc/write_buffer.h"

namespace kvorum::mvcc {

struct StoreOptions {
  WriteBuffer::Options buffer;
  Committer::Options commit;
  CompactionOptions compaction;
  // Threads that rebuild the index at Open, joined before it returns. 0: one per core, at most 4.
  unsigned restore_threads = 0;
  // Which leases a put may name; null: none. Outlives the store.
  const LeaseChecker* leases = nullptr;
  // Told at Open each key that is attached to a lease, in no order.
  std::function<void(std::string_view key, std::int64_t lease)> on_lease_attachment;
};

struct StoreExecutors {
  Executor& apply;
  Executor& backend;
  Executor& copier;  // the long copy of a defragmentation
};

class Store {
 public:
  // Rebuilds the index from the backend and resumes a compaction that a crash cut off. 1,000,000
  // keys take well under a second. kDataLoss for a backend whose records contradict each other.
  static Result<std::unique_ptr<Store>> Open(StoreOptions options, std::unique_ptr<Backend> backend,
                                             StoreExecutors executors);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // What the backend held at Open; zero or empty where it never held any.
  struct Recovered {
    std::uint64_t consistent_index = 0;
    std::uint64_t term = 0;
    std::string conf_state;  // JSON
    std::string storage_version;
  };
  const Recovered& recovered() const { return recovered_; }

  // ---- any thread ----

  // Under 1 µs, no allocation. kResourceExhausted when too many views live.
  Result<ReadView> Read();

  // What was published last.
  std::int64_t revision() const { return published_revision_.load(std::memory_order_acquire); }
  std::int64_t compact_revision() const {
    return published_compact_revision_.load(std::memory_order_acquire);
  }

  // The history's checksum up to a revision (0: the newest), equal to etcd's for the same history.
  // Reads all of it, so not for an I/O thread; a revision that one of the last ten compactions left
  // behind answers at once with the hash taken then, over what was there before it.
  // ErrCompacted, ErrFutureRev.
  Result<KvHash> HashKv(std::int64_t revision);

  // Visits a small bucket (not Bucket::kKey) as it is durable.
  Result<void> ForEach(
      Bucket bucket,
      const std::function<void(std::string_view key, std::string_view value)>& visit);

  // Calls `done` on the backend executor once everything published before is durable.
  void Flush(Committer::Callback done) { committer_.Flush(std::move(done)); }
  // See Committer::Defragment.
  void Defragment(std::move_only_function<void(Result<void>)> done) {
    committer_.Defragment(std::move(done));
  }

  // Of the backend's file; see Backend.
  std::uint64_t SizeBytes() const { return backend_->SizeBytes(); }
  std::uint64_t SizeInUseBytes() const { return backend_->SizeInUseBytes(); }
  StoreCounters::Values counters() const { return counters_.Read(); }
  // What waits to become durable.
  std::uint64_t PendingBytes() const { return buffer_.PendingBytes(); }

  // ---- apply executor ----

  // One at a time; ended before Publish.
  [[nodiscard]] WriteTxn Begin() { return WriteTxn(*this); }

  // A change of a small bucket (not Bucket::kKey, and in kMeta not what Publish and Compact write),
  // atomic with the batch that the next Publish ends.
  void PutBucket(Bucket bucket, std::string_view key, std::string_view value);
  void DeleteBucket(Bucket bucket, std::string_view key);

  // Refuses reads below `revision` from now on (readers: from Publish on) and forgets what no later
  // read can ask for: in the index in short steps on this executor, in the backend in small batches
  // between its commits. ErrCompacted at or below the last compaction, ErrFutureRev above the
  // current revision (any other is taken: 0 as well on a fresh store).
  //
  // `on_finished` is called once on this executor, when the backend has durably forgotten what this
  // compaction let go; after ErrCompacted, when those before it have. Not after ErrFutureRev.
  Result<void> Compact(std::int64_t revision, std::move_only_function<void()> on_finished);

  // Ends a batch of entries: what they did becomes visible to readers at once, and durable in one
  // commit together with the index and term of the last of them.
  void Publish(std::uint64_t consistent_index, std::uint64_t term);

  // False when so much waits to become durable that the next batch must wait: memory is bounded.
  bool HasRoom() const { return !buffer_.OverLimit(); }
  // Calls `resume` on this executor once there is room again. One waiter at a time.
  void WhenRoom(Task resume);

  // What the entries so far have made, published or not.
  std::int64_t working_revision() const { return working_revision_; }
  std::int64_t working_compact_revision() const { return working_compact_revision_; }
  std::int64_t live_keys() const { return index_->live_keys(); }
  KeyIndex::Stats index_stats() const { return index_->stats(); }

  // Aborts with what is broken. O(n): for tests and the simulation.
  void CheckInvariants() const;

 private:
  friend class WriteTxn;
  friend class Compactor;
  Store(StoreOptions options, std::unique_ptr<Backend> backend, StoreExecutors executors);

  Result<void> Restore();
  void PutMeta(std::string_view key, std::uint64_t value);
  void PutCompactMark(std::string_view key, std::int64_t revision);
  // For the compactor: puts the mark and publishes it, at once unless a batch is open.
  void PublishCompactMark(std::string_view key, std::int64_t revision);
  // For the compactor: shows readers the smaller index, unless a batch is open.
  void OnIndexCompacted();
  // Lets readers see the index as it is now. Everything in it is published in the buffer.
  void PublishIndex();
  // Frees what snapshots have held back, a little per task.
  void Reclaim();
  void Fatal(const Error& error) const;

  const StoreOptions options_;
  const StoreExecutors executors_;
  std::unique_ptr<Backend> backend_;
  WriteBuffer buffer_;
  Committer committer_;
  std::unique_ptr<KeyIndex> index_;
  HashStorage hashes_;
  StoreCounters counters_;
  Recovered recovered_;

  // Readers may see these before or after the index's own mark, which is what counts for them.
  std::atomic<std::int64_t> published_revision_{1};
  std::atomic<std::int64_t> published_compact_revision_{-1};

  // Of the apply executor.
  std::int64_t working_revision_ = 1;
  std::int64_t working_compact_revision_ = -1;
  std::uint64_t consistent_index_ = 0;
  std::uint64_t term_ = 0;
  bool txn_open_ = false;
  bool dirty_ = false;        // something waits for Publish
  bool index_dirty_ = false;  // the index differs from what readers see
  bool reclaim_posted_ = false;
  Compactor compactor_;
};

}  // namespace kvorum::mvcc
