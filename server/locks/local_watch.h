// Watches of a member's own services, beside those of its clients in the same shard: events come as
// a client would get them, in order and without a gap.
//
// Used by the shard's executor only. Events come there, never from within a call. The owner closes
// it, after which nothing comes any more; a shard's owner ends the executor before the shard.
// Bound: while the owner has not taken 256 KiB of events, or has paused, the watches lag, like
// those of a client that does not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "watch/shard.h"
#include "watch/stream.h"

namespace kvorum::server {

class LocalWatch final : public watch::StreamSink, public std::enable_shared_from_this<LocalWatch> {
 public:
  struct Event {
    std::int64_t watch_id = 0;
    bool is_delete = false;
    std::string kv;  // encoded
  };
  struct News {
    std::vector<Event> events;
    // Watches that ended, after the events: the events they should report are compacted, or cannot
    // be read.
    std::vector<std::int64_t> ended;
  };
  using Callback = std::move_only_function<void(const News& news)>;

  static std::shared_ptr<LocalWatch> Open(watch::Shard& shard, Callback callback);

  // Returns the id of its events: never 0, and not reused.
  std::int64_t Add(watch::CreateRequest request);
  // Its events already under way still come.
  void Remove(std::int64_t watch_id);
  void Pause() { paused_ = true; }
  void Resume();
  void Close();

  // ---- watch::StreamSink ----
  void Send(const watch::Response& response, const watch::Body* events) override;
  bool HasRoom() const override;
  void Flush() override;

 private:
  LocalWatch(watch::Shard& shard, Callback callback)
      : executor_(shard.executor()), callback_(std::move(callback)) {}

  void Deliver();
  void OnRoom();

  Executor& executor_;
  Callback callback_;
  std::unique_ptr<watch::Stream> stream_;  // null when closed
  std::int64_t last_id_ = 0;
  News news_;
  std::size_t news_bytes_ = 0;
  bool removing_ = false;
  bool posted_ = false;
  bool paused_ = false;
  mutable bool stream_waits_ = false;  // the stream was notified that there is no room
};

}  // namespace kvorum::server
