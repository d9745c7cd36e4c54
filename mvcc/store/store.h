// The multi-version key-value store: an index of every key's revisions in memory, recent revisions
// in the write buffer, all of them in the backend.
//
//   store.Begin() … txn.End()      one log entry, on the apply executor
//   store.Publish(index, term)     after a batch of entries: readers see it, and one backend commit
//                                  makes it durable together with the consistent index
//   store.Read()                   a state to read, on any thread
//   store.Install(…)               another member's snapshot replaces everything
//
// Threads: the three groups below say who may call.
// Ownership: owns index, write buffer, backend and committer. The owner stops the executors before
// it destroys the store; tasks that they had not run by then (callbacks too) are dropped.
// Errors: refusals are those of base/api_errors.h. A commit that fails is reported through
// StoreOptions::commit.on_fatal; a damaged record that the apply executor needs stops the process.
// Invariants (CheckInvariants): the index's own; the published revision is at most the working one
// and at least the compacted one; an unfinished compaction is at or below the compacted revision;
// the published revision decreases only where Install brings another history.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/api_errors.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "mvcc/index/index_keeper.h"
#include "mvcc/index/key_index.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/backend_sizes.h"
#include "mvcc/lmdb/committer.h"
#include "mvcc/lmdb/write_buffer.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/txn.h"
#include "mvcc/store/compaction.h"
#include "mvcc/store/hash.h"
#include "mvcc/store/history_sum.h"
#include "mvcc/store/index_saver.h"
#include "mvcc/store/publish_listener.h"
#include "mvcc/store/store_counters.h"
#include "mvcc/store/store_revisions.h"
#include "mvcc/store/store_state.h"
#include "mvcc/store/store_txn.h"
#include "mvcc/store/store_view.h"
#include "mvcc/transfer/snapshot_stream.h"

namespace kvorum::mvcc {

struct RestoreRequest;

struct StoreOptions {
  WriteBuffer::Options buffer;
  Committer::Options commit;
  CompactionOptions compaction;
  // The number of threads that rebuild the index at Open, joined before it returns. 0: one per
  // core, at most 4.
  unsigned restore_threads = 0;
  // The leases that a put may name; null: none. Outlives the store.
  const LeaseChecker* leases = nullptr;
  // Called for every change as it is applied; may be null. Outlives the store.
  LeaseAttachments* attachments = nullptr;
  // Called for each key that is attached to a lease, in no order: at Open, and on the copier for
  // the content that Install brings.
  std::function<void(std::string_view key, std::int64_t lease)> on_lease_attachment;
  // By default the index is not saved.
  IndexFileOptions index_file = {};
};

struct StoreExecutors {
  Executor& apply;
  Executor& backend;
  Executor& copier;  // the long copy of a defragmentation, an installed index, the index's file
};

class Store {
 public:
  // Reads the saved index, or rebuilds it from the backend, and resumes a compaction that a crash
  // cut off. 1,000,000 keys take well under a second. kDataLoss for a backend whose records
  // contradict each other.
  static Result<std::unique_ptr<Store>> Open(StoreOptions options, std::unique_ptr<Backend> backend,
                                             StoreExecutors executors);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The backend's content at Open, or when it was installed; zero or empty if it never held any.
  // Apply executor.
  struct Recovered {
    std::uint64_t consistent_index = 0;
    std::uint64_t term = 0;
    std::string conf_state;  // JSON
    std::string storage_version;
  };
  const Recovered& recovered() const { return recovered_; }
  // True if Open has found the index saved, and has not read the records.
  bool has_loaded_index() const { return keeper_.has_loaded(); }

  // ---- any thread ----

  // Under 1 µs, no allocation. kResourceExhausted when too many views live.
  Result<ReadView> Read();

  // The revision published last.
  std::int64_t revision() const { return revisions_.shown(); }
  std::int64_t compact_revision() const { return revisions_.shown_compact(); }
  // The revision that a Read now would see: at least revision(), and briefly ahead of it.
  std::int64_t readable_revision() const;

  // The history's checksum up to a revision (0: the newest), equal to etcd's for the same history.
  // Reads all of it, so not for an I/O thread; for a revision of one of the last ten compactions it
  // returns at once the hash taken then, over the records before it. kErrCompacted, kErrFutureRev.
  // Pins no pages while it runs, unless one compaction after the other is asked for meanwhile.
  Result<KvHash> HashKv(std::int64_t revision);
  // The hashes stored for that, by revision.
  std::vector<KvHash> compaction_hashes() const { return hashes_.All(); }
  // The incremental hash of what is durable.
  HistorySum& history_sum() { return history_sum_; }
  // CRC-32C over all buckets of the backend as it is durable now: one state, whose pages stay as
  // long as it reads. Threads as for HashKv. Starts over if the backend needs its reader's place.
  struct BackendHash {
    std::uint32_t hash = 0;
    std::int64_t revision = 0;  // of the view that was hashed
  };
  Result<BackendHash> HashBackend();

  // Visits the durable content of a small bucket (not Bucket::kKey).
  Result<void> ForEach(
      Bucket bucket,
      const std::function<void(std::string_view key, std::string_view value)>& visit);

  // Examines the durable content.
  Result<void> LookAtDurable(const std::function<Result<void>(Snapshot& content)>& look) const;
  // The meta bucket's part of any content.
  static Result<Recovered> ReadRecovered(Snapshot& content);

  // The revision of any content.
  static Result<std::int64_t> ReadRevision(Snapshot& content);

  // A reader of the durable state for long use, which pins pages like the source below.
  struct DurableReader {
    std::shared_ptr<const void> owner;  // of what it reads; before it, and so destroyed after it
    Reader reader;
    // The size of the file whose pages it pins; may be called even when the reader is gone.
    std::function<std::uint64_t()> file_bytes;
  };
  Result<DurableReader> OpenDurable() const;

  // The durable state, to be sent to another member, and its description. Its reader pins the pages
  // of this state for as long as the source lives: the file grows by the writes meanwhile.
  struct DurableSnapshot {
    Recovered content;
    std::unique_ptr<SnapshotSource> source;
    // The size of the file whose pages it pins; may be called even when the source is gone.
    std::function<std::uint64_t()> file_bytes;
  };
  // `look` examines the content and returns what an image for etcd members states differently.
  using LookAtSnapshot = std::function<Result<EtcdImageOptions>(Snapshot& content)>;
  Result<DurableSnapshot> OpenSnapshot(const LookAtSnapshot& look = nullptr) const;
  // For the metrics; called by the sender of a snapshot.
  void SnapshotTook(Duration took) { counters_.snapshot.Observe(took); }

  // Calls `done` on the backend executor once everything published before is durable.
  void Flush(Committer::Callback done) { committer_.Flush(std::move(done)); }
  // The last call: see Committer. Then saves the index, if the store is between two batches and no
  // compaction is unfinished. The apply executor still runs.
  void Close(Committer::Callback done);
  bool CommitStalled() const { return committer_.stalled(); }
  // See Committer::Defragment.
  void Defragment(std::move_only_function<void(Result<void>)> done);

  // The size of the backend's file; see Backend.
  std::uint64_t SizeBytes() const { return sizes_.bytes(); }
  std::uint64_t SizeInUseBytes() const { return sizes_.in_use_bytes(); }
  StoreCounters::Values counters() const { return counters_.Read(); }
  const StoreCounters& metrics() const { return counters_; }
  // The bytes waiting to become durable.
  std::uint64_t PendingBytes() const { return State()->buffer.PendingBytes(); }

  // ---- apply executor ----

  // Sets the observer of every revision from now on; null: none. It outlives the store's last
  // entry.
  void SetPublishListener(PublishListener* listener) { listener_ = listener; }

  // One txn at a time; ended before Publish.
  [[nodiscard]] WriteTxn Begin() { return {*this, nullptr}; }
  // The room for its answer outlives the txn.
  [[nodiscard]] WriteTxn Begin(AnswerRoom& room) { return {*this, &room}; }

  // A change of a small bucket (not Bucket::kKey, and in kMeta none of the keys that Publish and
  // Compact write), atomic with the batch that the next Publish ends.
  void PutBucket(Bucket bucket, std::string_view key, std::string_view value);
  void DeleteBucket(Bucket bucket, std::string_view key);

  // Numbers the state that the owner keeps beside the store: every view from the next Publish on
  // has the number that belongs to it, so that a reader never combines states that did not exist
  // together.
  void SetSideVersion(std::uint64_t version);
  // The number in the newest view.
  std::uint64_t shown_side_version() const;

  // Refuses reads below `revision` from now on (for readers: from Publish on) and drops everything
  // that no later read can ask for: in the index in short steps on this executor, in the backend in
  // small batches between its commits. kErrCompacted at or below the last compaction, kErrFutureRev
  // above the current revision (any other is accepted: 0 as well on a fresh store).
  //
  // `on_finished` is called once on this executor, when the backend has durably deleted everything
  // that this compaction drops; after kErrCompacted, when earlier compactions have. Not after
  // kErrFutureRev.
  Result<void> Compact(std::int64_t revision, std::move_only_function<void()> on_finished);

  // Ends a batch of entries: their changes become visible to readers at once, and durable in one
  // commit together with the index and term of the last of them.
  void Publish(std::uint64_t consistent_index, std::uint64_t term);

  // The bytes written since the last Publish.
  std::uint64_t UnpublishedBytes() const { return state_->buffer.StagedBytes(); }
  // False when so much waits to become durable that the next batch must wait: memory is bounded.
  bool HasRoom() const { return !state_->buffer.OverLimit(); }
  // Calls `resume` on this executor once there is room again. One waiter at a time.
  void WhenRoom(Task resume);

  // Replaces everything by the content of a file that a snapshot's sink has finished: the index,
  // the records waiting to become durable, and the database at `path`, whose name the file gets.
  // Readers see the old content until all of the new one is there, and then the new one in one
  // step; an earlier view goes on. A compaction of the old content ends, and resumes in the new one
  // if that has it unfinished.
  //
  // `done` runs on this executor; until then nothing else of this group may be called. The long
  // part, rebuilding the index, runs on the copier. Errors (a damaged file) are fatal: the log
  // already says that the content is here. Content at an older revision than readers have seen
  // shows that the replaced one was not the cluster's; it is taken, and the revisions go back.
  struct InstallRequest {
    BackendOpener open;
    std::string snapshot_path;
    std::string path;
    std::uint64_t consistent_index = 0;  // what the content must say
    std::uint64_t side_version = 0;      // SetSideVersion of the content
    // On the backend executor, before the file gets its name. May be empty.
    std::function<void()> before_place = {};
    // On the copier: loads the content that the owner needs. May be empty.
    std::function<Result<void>(Snapshot& content)> load;
  };
  void Install(InstallRequest request, Task done);

  // The revision after the entries so far, published or not.
  std::int64_t working_revision() const { return revisions_.working(); }
  std::int64_t live_keys() const { return state_->index->live_keys(); }
  KeyIndex::Stats index_stats() const { return state_->index->stats(); }

  // Aborts with the broken invariant. O(n): for tests and the simulation.
  void CheckInvariants() const;

 private:
  friend class WriteTxn;
  friend class Compactor;
  friend class IndexSaver;
  Store(StoreOptions options, std::unique_ptr<Backend> backend, StoreExecutors executors);

  // The backend's content, with the index made from it.
  struct Restored {
    Recovered recovered;
    std::int64_t revision = 1;
    std::int64_t scheduled_compact = -1;
    std::int64_t finished_compact = -1;
    std::uint64_t records = 0;
    std::string index_marks;
    std::int64_t index_file_revision = 0;  // 0: there was none of use
    std::uint64_t later_records = 0;       // after it
    std::int64_t compact_revision() const { return std::max(scheduled_compact, finished_compact); }
  };
  struct Installation;
  // With the saved index, if there is a keeper and it has one of this state.
  static Result<Restored> Restore(const StoreOptions& options, StoreState& state,
                                  IndexKeeper* keeper);
  static Result<Restored> ReadMarks(Snapshot& content);
  static RestoreRequest RequestFor(const StoreOptions& options, const Restored& restored);
  static bool LoadSavedIndex(const StoreOptions& options, StoreState& state, IndexKeeper& keeper,
                             Restored& restored);
  // Publishes the mark of an index that is to be saved; nullopt if it cannot be.
  std::optional<IndexBinding> PutIndexMark();
  void SaveIndex(IndexBinding binding, Committer::Callback done);
  bool IsAt(const IndexBinding& binding) const;
  // Starts writing on top of the restored content.
  void GoOnFrom(const Restored& restored, std::uint64_t side_version);
  void BeginHistorySum(const Restored& restored);
  void ResumeCompaction(const Restored& restored);
  std::shared_ptr<StoreState> State() const {
    std::lock_guard lock(state_mutex_);
    return state_;
  }
  Result<void> BuildInstallation(Installation& installation) const;
  void PlaceInstallation(std::shared_ptr<Installation> installation);
  void ShowInstallation(Installation& installation);
  void CloseWhenUnused(std::shared_ptr<StoreState> replaced);
  // Publishes the index, and tells the listener which revisions became visible.
  void ShowRevisions(std::optional<WriteBuffer::View> records);
  // The records that are about to be published, if the listener wants them.
  std::optional<WriteBuffer::View> RecordsForListener() const;
  void PutMeta(std::string_view key, std::uint64_t value);
  void PutCompactMark(std::string_view key, std::int64_t revision);
  // For the compactor: puts the mark and publishes it, at once unless a batch is open.
  void PublishCompactMark(std::string_view key, std::int64_t revision);
  // For the compactor: shows readers the smaller index, unless a batch is open.
  void OnIndexCompacted();
  // Shows readers the index as it is now. Everything in it is published in the buffer.
  void PublishIndex();
  // Frees objects that snapshots have held back, a few per task.
  void Reclaim();
  void Fatal(const Error& error) const;

  const StoreOptions options_;
  const StoreExecutors executors_;
  // Replaced by the apply executor under the lock, which others hold to copy it.
  std::shared_ptr<StoreState> state_;
  mutable std::mutex state_mutex_;
  BackendSizes sizes_;
  IndexKeeper keeper_;
  Committer committer_;
  HashStorage hashes_;
  HistorySum history_sum_;
  StoreCounters counters_;
  Recovered recovered_;

  StoreRevisions revisions_;

  // State of the apply executor.
  std::uint64_t consistent_index_ = 0;
  std::uint64_t term_ = 0;
  PublishListener* listener_ = nullptr;
  bool txn_open_ = false;
  bool dirty_ = false;  // something waits for Publish
  bool reclaim_posted_ = false;
  bool installing_ = false;
  Compactor compactor_;
  IndexSaver saver_;
};

}  // namespace kvorum::mvcc
