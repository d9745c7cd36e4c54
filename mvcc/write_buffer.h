// Revisions and bucket changes that are committed by the log but not yet durable in the backend.
// The apply executor appends to it and publishes batch by batch; readers look revisions up in a
// View; the committer moves what is published into the backend and then releases it.
//
// A reader takes its View first and its backend Reader second: what has left the buffer by then is
// durable and in the Reader, so nothing falls between. A revision may be found in both, with the
// same bytes.
//
// Threads: each section below says who may call. Memory: bytes of records that are not yet durable
// are bounded by the apply executor's waiting while OverLimit(); one batch may exceed the bound.
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

#include "mvcc/revision.h"
#include "mvcc/write_batch.h"

namespace kvorum::mvcc {

class WriteBuffer {
 private:
  class Segment;
  // In revision order. All but the last are closed: their size is final.
  using SegmentList = std::vector<std::shared_ptr<const Segment>>;

 public:
  struct Options {
    std::uint64_t limit_bytes = std::uint64_t{64} << 20;
  };

  // What was published at one moment. An immutable value: thread-safe, copying costs one atomic
  // increment. Records and values stay valid while any View that shows them lives.
  class View {
   public:
    View() = default;
    // O(log n), no lock, no atomic.
    const RevisionRecord* Find(Revision revision) const;
    // Visits the records at and after `from` in order until the visitor returns false.
    void Scan(Revision from, const std::function<bool(const RevisionRecord&)>& visit) const;
    bool empty() const { return First() == nullptr; }
    // The oldest record, or null. Everything older is in the backend.
    const RevisionRecord* First() const;

   private:
    friend class WriteBuffer;
    std::span<const RevisionRecord> Records(std::size_t segment) const;

    std::shared_ptr<const SegmentList> segments_;
    std::size_t last_size_ = 0;  // records of the last segment that the view shows
  };

  explicit WriteBuffer(const Options& options);
  ~WriteBuffer();
  WriteBuffer(const WriteBuffer&) = delete;
  WriteBuffer& operator=(const WriteBuffer&) = delete;

  // ---- apply executor ----
  // Room for the value of the next record, which the caller fills with exactly size_bytes before it
  // calls Publish. Revisions ascend strictly. No copy; an allocation every few hundred records.
  char* Append(Revision revision, bool tombstone, std::size_t size_bytes);
  void Put(Bucket bucket, std::string_view key, std::string_view value) {
    staged_changes_.Put(bucket, key, value);
  }
  void Remove(Bucket bucket, std::string_view key) { staged_changes_.Remove(bucket, key); }
  // Makes what was appended, put and removed since the last call visible to readers and ready for
  // the committer, as one atomic unit. `consistent_index` is opaque: the number that Taken tells.
  // Callers use Committer::Publish, which also sees to it that a commit follows.
  void Publish(std::uint64_t consistent_index);
  // A record appended and not yet published, or published and not yet released: what the apply
  // executor itself sees. O(log n).
  const RevisionRecord* FindStaged(Revision revision) const;

  // ---- any thread ----
  View CurrentView() const;
  // Published and not yet durable.
  std::uint64_t PendingBytes() const { return pending_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t PendingOperations() const {
    return pending_operations_.load(std::memory_order_relaxed);
  }
  // The apply executor publishes nothing more while this is so.
  bool OverLimit() const { return PendingBytes() >= limit_bytes_; }
  // Calls `resume` once, when the buffer is at most half full: at once on this thread if it is,
  // else on the backend executor after a commit. One waiter at a time.
  void WhenRoom(std::move_only_function<void()> resume);

  // ---- backend executor (the committer) ----
  // Everything that is published and was not taken before. The batch borrows from the buffer until
  // Release.
  struct Taken {
    WriteBatch batch;
    std::uint64_t consistent_index = 0;  // of the last Publish within it
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
  };
  Taken Take();
  // The last Taken is durable and visible in the backend: new Views need not show it.
  void Release(const Taken& taken);

 private:
  void OpenSegment(std::size_t value_size_bytes);

  const std::uint64_t limit_bytes_;
  std::atomic<std::uint64_t> pending_bytes_{0};
  std::atomic<std::uint64_t> pending_operations_{0};
  // Set by Take: the apply executor goes on in a new segment, so that the old one can be dropped
  // whole.
  std::atomic<bool> rotate_{false};

  // Of the apply executor.
  std::shared_ptr<Segment> open_;
  BucketChanges staged_changes_;
  std::uint64_t staged_bytes_ = 0;
  Revision last_revision_;

  // Held for a few lines by every side.
  mutable std::mutex mutex_;
  std::shared_ptr<const SegmentList> segments_;  // the last is open_
  std::size_t published_in_open_ = 0;
  BucketChanges published_changes_;
  std::uint64_t published_index_ = 0;
  std::uint64_t untaken_bytes_ = 0;
  std::uint64_t untaken_operations_ = 0;
  std::move_only_function<void()> resume_;

  // Of the backend executor: sequence number (counted over all records) up to which was taken.
  std::uint64_t taken_sequence_ = 0;
};

}  // namespace kvorum::mvcc
