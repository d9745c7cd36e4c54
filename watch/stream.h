// One client's stream of watchers: creates, cancels and answers, in the order in which they must
// arrive. Its responses go to a StreamSink, which encodes and sends them.
//
// Used by its shard's executor only. The sink and the shard outlive it. Destroying it removes its
// watchers.
//
// A stream whose sink has no room gets no events: its watchers leave the synced group at the first
// revision that they miss, and are caught up from the store once there is room again. So a client
// that does not read costs what its sink holds, and a waiting watcher costs nothing per event.
//
// A client that has left its sink without room for a second (HubOptions::silence) counts as one
// that does not read: ShardLag no longer awaits its watchers, each until it is synced again.
//
// Progress: a response that says "all events up to this revision were sent" goes into the same
// sink, after those events, and only while none of its watchers misses any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/watch_messages.h"
#include "base/clock.h"
#include "watch/body.h"
#include "watch/catch_up.h"
#include "watch/ended_ids.h"
#include "watch/watcher.h"

namespace kvorum::watch {

class Shard;

// Must not call the stream back.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  // Queues a response, with events or without (null). Always accepts it: responses sent without
  // asking HasRoom are bounded by the client's own requests and one message per watcher.
  virtual void Send(const Response& response, const Body* events) = 0;
  // Returns true if it should be given more events. After a false, its owner calls Stream::OnRoom
  // when there is room again.
  virtual bool HasRoom() const = 0;
  // All responses for now were queued.
  virtual void Flush() = 0;
};

class Stream {
 public:
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Answers `created`, with `canceled` beside it if it is refused: the range is empty, the id is
  // taken, the revision is negative. Events follow from start_revision on.
  void Create(const CreateRequest& request);
  // Answers like a Create that is refused for this reason.
  void Refuse(std::string_view reason);
  // Answers `canceled`, if there is such a watcher.
  void Cancel(std::int64_t watch_id);
  // Answers with the revision up to which every watcher has been sent its events, unless one lags.
  void RequestProgress();
  // The sink has room again.
  void OnRoom();

  std::size_t watchers() const { return watchers_.size(); }
  // Null while a compaction has ended none.
  const EndedIds* ended_by_compaction() const { return compacted_.get(); }

 private:
  friend class Shard;
  Stream(Shard& shard, StreamSink& sink);

  std::int64_t ChooseId();
  bool IsTaken(std::int64_t watch_id) const {
    return watchers_.contains(watch_id) ||
           (compacted_ != nullptr && compacted_->Contains(watch_id));
  }
  // Returns true if a progress response at the present revision would be right for the watcher.
  bool IsAt(Watcher& watcher) const;
  void NotifyProgress();

  Shard& shard_;
  StreamSink& sink_;
  std::unordered_map<std::int64_t, Watcher> watchers_;  // which stay where they are
  std::unique_ptr<EndedIds> compacted_;                 // null: none
  std::vector<Watcher*> lagging_;
  std::int64_t next_id_ = 0;
  std::shared_ptr<CatchUpAccount> account_;  // null until a watcher is caught up
  std::uint32_t place_;                      // in the shard's streams
  std::uint32_t unsynced_ = 0;               // watchers that lag or are being caught up
  bool some_start_later_ = false;
  bool flush_queued_ = false;
  // Full: watchers lag, since the sink had no room; silent: for so long that writes do not wait for
  // them.
  enum class Room : std::uint8_t { kEnough, kFull, kSilent };
  Room room_ = Room::kEnough;
  TimePoint silent_from_;  // kFull: when it becomes silent
  // The interval of progress notifications; zero until a watcher asks for them.
  Duration progress_interval_{};
  TimePoint progress_due_;
};

}  // namespace kvorum::watch
