// Events of consecutive revisions, in order, and their encoded bytes: each event is encoded at most
// once, and all messages that carry it share these bytes. Watchers are matched against a batch,
// which either the apply executor published or the catch-up has read.
//
// Threads: immutable except for the encoded bytes, which are made on first use under a lock, so it
// is thread-safe. Previous values are looked up outside of the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/shared_bytes.h"
#include "mvcc/publish_listener.h"
#include "mvcc/revision.h"
#include "mvcc/write_batch.h"
#include "mvcc/write_buffer.h"

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

class EventBatch {
 public:
  // From a published batch, with its records. About 50 ns an event.
  explicit EventBatch(const mvcc::PublishListener::Published& published);
  // An empty batch of revisions from `first` on, to be filled.
  explicit EventBatch(std::int64_t first) : first_revision_(first), last_revision_(first - 1) {}
  EventBatch(const EventBatch&) = delete;
  EventBatch& operator=(const EventBatch&) = delete;

  // Copies a record of a later revision, before the batch is shared. Returns its position.
  std::uint32_t Add(const mvcc::RevisionRecord& record);

  std::int64_t first_revision() const { return first_revision_; }
  std::int64_t last_revision() const { return last_revision_; }
  std::size_t size() const { return events_.size(); }
  const Event& operator[](std::size_t i) const { return events_[i]; }
  std::size_t record_bytes() const { return record_bytes_; }

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
  // value).
  SharedBytes WithPrevious(std::size_t i, PreviousValues& previous) const;

 private:
  // Events whose bytes are encoded together.
  struct ChunkBounds {
    std::size_t first_event = 0;
    std::size_t size_bytes = 0;
  };

  void Append(mvcc::Revision revision, bool is_delete, std::string_view key,
              std::string_view record);

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
};

}  // namespace kvorum::watch
