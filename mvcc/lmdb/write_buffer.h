// Revisions and bucket changes that are committed by the log but not yet durable in the backend.
// The apply executor appends and publishes batch by batch; readers look revisions up in a View; the
// committer moves published records into the backend and then releases them.
//
// A reader takes its View first and its backend Reader second: a record that has left the buffer by
// then is durable and in the Reader, so none is missed. A revision may be found in both, with the
// same bytes.
//
// Threads: each section below says who may call. Memory: the records not yet durable are bounded by
// the apply executor's waiting while OverLimit(); the batch that reaches the bound may exceed it,
// and one segment (up to some MiB) may stay until the next append.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mvcc/lmdb/write_batch.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

class WriteBuffer {
 private:
  class Segment;
  // In revision order, none empty.
  using SegmentList = std::vector<std::shared_ptr<const Segment>>;

 public:
  struct Options {
    std::uint64_t limit_bytes = std::uint64_t{64} << 20;
  };

  // The records published at one moment. An immutable value: thread-safe, copying costs one atomic
  // increment. Records and values stay valid while a View that shows them lives.
  class View {
   public:
    View() = default;
    // O(log n), no lock, no atomic.
    const RevisionRecord* Find(Revision revision) const;
    // Visits the records at and after `from` in order until the visitor returns false.
    void Scan(Revision from, const std::function<bool(const RevisionRecord&)>& visit) const;
    // The oldest record, or null. Everything older is in the backend.
    const RevisionRecord* First() const;
    bool empty() const { return First() == nullptr; }

   private:
    friend class WriteBuffer;
    View(std::shared_ptr<const SegmentList> segments, std::uint64_t end)
        : segments_(std::move(segments)), end_(end) {}

    std::shared_ptr<const SegmentList> segments_;
    std::uint64_t end_ = 0;  // sequence number after the last record shown
  };

  explicit WriteBuffer(const Options& options);
  ~WriteBuffer();
  WriteBuffer(const WriteBuffer&) = delete;
  WriteBuffer& operator=(const WriteBuffer&) = delete;

  // ---- apply executor ----
  // Room for the value of the next record, which the caller fills with exactly size_bytes before it
  // appends again or publishes. Revisions ascend strictly. No copy; an allocation every few hundred
  // records.
  char* Append(Revision revision, bool tombstone, std::size_t size_bytes);
  void Put(Bucket bucket, std::string_view key, std::string_view value) {
    staged_changes_.Put(bucket, key, value);
  }
  void Remove(Bucket bucket, std::string_view key) { staged_changes_.Remove(bucket, key); }
  // A record appended since the last Publish (older ones are in a View); valid until the next.
  const RevisionRecord* FindStaged(Revision revision) const;
  // A view of the records appended since the last Publish, and maybe of some older ones. Taken
  // before Publish it keeps these records even if some become durable meanwhile. One allocation.
  View StagedView() const;
  // Makes everything appended, put and removed since the last call visible to readers and ready for
  // the committer, as one atomic unit. `consistent_index` is opaque here; the caller has put it
  // into the meta bucket as part of the unit. Returns the amount waiting for the committer. Callers
  // use Committer::Publish, which makes sure that a commit follows.
  struct Waiting {
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
  };
  Waiting Publish(std::uint64_t consistent_index);
  // The bytes that the next Publish will add.
  std::uint64_t StagedBytes() const { return staged_bytes_; }

  // ---- any thread ----
  View CurrentView() const;
  // The bytes published and not yet durable.
  std::uint64_t PendingBytes() const { return pending_bytes_.load(std::memory_order_relaxed); }
  // While true, the apply executor publishes nothing more.
  bool OverLimit() const { return PendingBytes() >= limit_bytes_; }
  // Calls `resume` once, when the buffer is at most half full: at once on this thread if it is,
  // else on the backend executor after a commit. One waiter at a time.
  void WhenRoom(std::move_only_function<void()> resume);

  // ---- backend executor (the committer) ----
  // Everything published and not taken before. The batch borrows from the buffer until Release.
  struct Taken {
    WriteBatch batch;
    std::optional<std::uint64_t> consistent_index;  // of the last Publish in it, if there is one
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    std::uint64_t end = 0;  // sequence number after its last record
  };
  Taken Take();
  // The taken records are durable and visible in the backend: new Views need not show them.
  void Release(const Taken& taken);

 private:
  void OpenSegment();

  const std::uint64_t limit_bytes_;
  // Set by Take: the apply executor starts a new segment, so that the old one can be dropped whole.
  std::atomic<bool> rotate_{false};
  std::atomic<std::uint64_t> pending_bytes_{0};

  // State of the apply executor. Records are counted by sequence numbers from 0.
  std::vector<std::shared_ptr<Segment>> writing_;  // those with staged records; the last is open
  std::size_t new_segments_ = 0;                   // of writing_, at its end, not yet in segments_
  std::uint64_t next_sequence_ = 0;
  std::uint64_t staged_bytes_ = 0;
  BucketChanges staged_changes_;
  Revision last_revision_;

  mutable std::mutex mutex_;  // guards what follows; held for a few lines
  std::shared_ptr<const SegmentList> segments_;
  std::uint64_t published_end_ = 0;
  std::uint64_t untaken_begin_ = 0;  // sequence number of the first record not yet taken
  BucketChanges published_changes_;
  std::optional<std::uint64_t> published_index_;
  std::uint64_t untaken_bytes_ = 0;
  std::move_only_function<void()> resume_;
};

}  // namespace kvorum::mvcc
