// Events of consecutive revisions, in order, and their encoded bytes: each event is encoded at most
// once, and all messages that carry it share these bytes. Watchers are matched against a batch,
// which either the apply executor published or the catch-up has read.
//
// Threads: immutable except for the encoded bytes, which are made on first use under a lock, so it
// is thread-safe. Previous values are looked up outside of the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/shared_bytes.h"
#include "mvcc/lmdb/write_batch.h"
#include "mvcc/lmdb/write_buffer.h"
#include "mvcc/records/revision.h"
#include "mvcc/store/publish_listener.h"

namespace kvorum::watch {

struct Event {
  mvcc::Revision revision;
  bool is_delete = false;
  std::string_view key;
  std::string_view record;  // the encoded KeyValue; for a delete its key only
};

// Looks up the state before an event. Used by one thread.
class PreviousValues {
 public:
  virtual ~PreviousValues() = default;
  // The key's encoded KeyValue at a revision; empty if it had none, or if it is compacted. Valid
  // until the next call.
  virtual std::string_view Find(std::string_view key, std::int64_t revision) = 0;
};

// The memory for events with their previous values that published batches have encoded, of all
// batches together: previous values may be far larger than the changes. Thread-safe.
class PreviousBudget {
 public:
  explicit PreviousBudget(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // One event always fits if there is no other.
  bool Take(std::size_t bytes) {
    const std::size_t before = used_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (before == 0 || before + bytes <= limit_bytes_) return true;
    GiveBack(bytes);
    return false;
  }
  void GiveBack(std::size_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  const std::size_t limit_bytes_;
  std::atomic<std::size_t> used_bytes_{0};
};

class EventBatch {
 public:
  // From a published batch, with its records. About 50 ns an event. Without a budget, which
  // outlives the batch, previous values have all the room that they need.
  explicit EventBatch(const mvcc::PublishListener::Published& published,
                      PreviousBudget* previous_budget = nullptr);
  // An empty batch of revisions from `first` on, to be filled.
  explicit EventBatch(std::int64_t first, PreviousBudget* previous_budget = nullptr);
  ~EventBatch();
  EventBatch(const EventBatch&) = delete;
  EventBatch& operator=(const EventBatch&) = delete;

  // The same events in memory of their own: a published batch keeps whole segments of the write
  // buffer. About 70 ns an event.
  static std::shared_ptr<const EventBatch> Copy(const EventBatch& of);

  // Copies a record of a later revision, before the batch is shared. Returns its position.
  std::uint32_t Add(const mvcc::RevisionRecord& record);

  std::int64_t first_revision() const { return first_revision_; }
  std::int64_t last_revision() const { return last_revision_; }
  std::size_t size() const { return events_.size(); }
  const Event& operator[](std::size_t i) const { return events_[i]; }
  // An upper bound of what it holds itself, with all that is encoded from it but previous values.
  std::size_t held_bytes() const {
    return sizeof(EventBatch) + events_.size() * kBytesBesideEvent + 2 * record_bytes_;
  }

  // An event's bytes as an element of WatchResponse.events, tag and length included. Neighbours are
  // adjacent in the same chunk.
  struct Encoded {
    std::size_t chunk = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  Encoded Find(std::size_t i) const;
  SharedBytes Chunk(std::size_t chunk) const;
  // The same with the previous value; as in Chunk for an event without one (a create, a compacted
  // value). Empty if the budget has no room for it.
  SharedBytes WithPrevious(std::size_t i, PreviousValues& previous) const;
  // Forgets what WithPrevious has made.
  void DropPrevious() const;

 private:
  // Events whose bytes are encoded together.
  struct ChunkBounds {
    std::size_t first_event = 0;
    std::size_t size_bytes = 0;
  };

  // Places, the event, its slot among those with previous values, and its share of the chunks.
  static constexpr std::size_t kBytesBesideEvent = 128;

  void Append(mvcc::Revision revision, bool is_delete, std::string_view key,
              std::string_view record);
  void AddBlock(std::size_t bytes);

  PreviousBudget* const previous_budget_ = nullptr;
  std::int64_t first_revision_;
  std::int64_t last_revision_;
  mvcc::WriteBuffer::View records_;              // of a published batch
  std::vector<std::unique_ptr<char[]>> blocks_;  // of added records
  std::size_t block_room_bytes_ = 0;
  char* block_next_ = nullptr;
  std::vector<Event> events_;
  std::vector<Encoded> places_;
  std::vector<ChunkBounds> chunks_;
  std::size_t record_bytes_ = 0;

  mutable std::mutex mutex_;                        // guards what follows
  mutable std::vector<SharedBytes> encoded_;        // by chunk
  mutable std::vector<SharedBytes> with_previous_;  // by event, once one is asked for
  mutable std::size_t previous_bytes_ = 0;          // of these, taken from the budget
};

}  // namespace kvorum::watch
