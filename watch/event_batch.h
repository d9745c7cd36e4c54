// Events of consecutive revisions, in order, and their encoded bytes: each event is encoded at most
// once, and all messages that carry it share these bytes. Watchers match against a batch, which is
// either what the apply executor published or what catching up has read.
//
// Threads: immutable but for the encoded bytes, which are made when they are first asked for, under
// a lock; so it is thread-safe. Previous values are looked up outside of the lock.
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
  std::string_view record;  // the encoded KeyValue; of a delete its key only
};

// Where the state before an event is looked up. Used by one thread.
class PreviousValues {
 public:
  virtual ~PreviousValues() = default;
  // The key's encoded KeyValue at a revision; empty if there is none, or not any more. Good until
  // the next call.
  virtual std::string_view Find(std::string_view key, std::int64_t revision) = 0;
};

class EventBatch {
 public:
  // Of what was published, with its records. About 50 ns an event.
  explicit EventBatch(const mvcc::PublishListener::Published& published);
  // Empty, of revisions from `first` on, to be filled.
  explicit EventBatch(std::int64_t first) : first_revision_(first), last_revision_(first - 1) {}
  EventBatch(const EventBatch&) = delete;
  EventBatch& operator=(const EventBatch&) = delete;

  // Before it is shared: copies a record of a later revision. Returns its place.
  std::uint32_t Add(const mvcc::RevisionRecord& record);

  std::int64_t first_revision() const { return first_revision_; }
  std::int64_t last_revision() const { return last_revision_; }
  std::size_t size() const { return events_.size(); }
  const Event& operator[](std::size_t i) const { return events_[i]; }
  std::size_t record_bytes() const { return record_bytes_; }

  // An event's bytes as an element of WatchResponse.events, tag and length included. Neighbours lie
  // side by side in the same chunk.
  struct Encoded {
    std::size_t chunk = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  Encoded Find(std::size_t i) const;
  SharedBytes Chunk(std::size_t chunk) const;
  // The same with the value before it; for one without (a create, a compacted one) as Chunk has it.
  SharedBytes WithPrevious(std::size_t i, PreviousValues& previous) const;

 private:
  // Events whose bytes are made together.
  struct ChunkBounds {
    std::size_t first_event = 0;
    std::size_t size_bytes = 0;
  };

  void Append(mvcc::Revision revision, bool is_delete, std::string_view key,
              std::string_view record);

  std::int64_t first_revision_;
  std::int64_t last_revision_;
  mvcc::WriteBuffer::View records_;              // of what was published
  std::vector<std::unique_ptr<char[]>> blocks_;  // of what was added
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
