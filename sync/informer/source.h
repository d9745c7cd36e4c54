// A prefix of the store as a stream of changes without gap or duplicate: a list of all keys at one
// revision, in pages, then every later revision, whole and in order. After a lost connection it
// goes on where it was; after a compaction that took its place away it lists again.
//
// Threading: the source's loop and all calls of the sink run on the executor. Start, Stop, Resume
// and WaitForRevision are thread-safe. Store, executor and sink outlive the source. Errors: none
// ends the source; it reports them, backs off and tries again until it is stopped. Memory: a page,
// or the watch's window of responses (kWatchWindow, kWatchWindowBytes), whichever the sink has not
// taken yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"
#include "sync/kernel/jitter.h"
#include "sync/store/store.h"

namespace kvorum::sync {

class Metrics;

// Nothing here may throw.
class SourceSink {
 public:
  virtual ~SourceSink() = default;

  // A list begins, at this revision. It replaces everything from before, a list that was not
  // finished as well: it is for the sink to find the difference (object_map.h).
  virtual void OnListBegin(std::int64_t revision) = 0;
  // Keys in order, pages in order.
  virtual void OnListPage(std::vector<KeyValue> kvs) = 0;
  virtual void OnListEnd() = 0;
  // All events of one revision.
  virtual void OnRevision(std::int64_t revision, std::vector<Event> events) = 0;
  // Nothing has happened to the prefix up to this revision beyond what was delivered.
  virtual void OnProgress(std::int64_t revision) = 0;
  // Everything that has come so far has been delivered, or the sink is not ready.
  virtual void OnDelivered() {}
  // Something failed, and is tried again after a pause. A watch that has lost its member is no
  // failure: it goes on at the next that can be reached, whenever that is.
  virtual void OnError(const Error& error) = 0;
  // False: nothing is delivered until Source::Resume is called.
  virtual bool is_ready() { return true; }
};

struct SourceOptions {
  std::string prefix = {};  // empty: all keys
  // A page of a list has so many keys at most: 16 at first, then up to twice the page before, as
  // many as fill these bytes if they are like that page's. A page that the client or the server
  // refuses as too large (kResourceExhausted) is asked for again with half of its keys.
  std::size_t page_keys = 1000;
  std::size_t page_bytes = 8 * 1024 * 1024;
  // Events have the value before (Event::prev); it costs the server a read, and as many bytes
  // again.
  bool with_previous = false;
  BackoffOptions backoff = {};
  // The wait for the answer to a progress request before the next one.
  Duration progress_interval = std::chrono::milliseconds(500);
  std::uint64_t seed = 0;      // of the jitter; 0: from the operating system
  Metrics* metrics = nullptr;  // outlives the source
};

class Source {
 public:
  Source(Store& store, Executor& executor, SourceSink& sink, SourceOptions options);
  // Stops it.
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  void Start();
  // The sink is not called any more once it has returned. The sink may call it.
  void Stop();
  // The sink is ready again.
  void Resume();

  // Answers, on the executor, once everything up to the revision has been delivered to the sink.
  // It asks the server for its progress only if the prefix is idle.
  // kUnimplemented: nothing of the prefix has that revision, and the server cannot be asked.
  // kCanceled: the source has stopped.
  using OnReached = std::move_only_function<void(Result<void> reached)>;
  void WaitForRevision(std::int64_t revision, OnReached on_reached);

  // The revision up to which everything has been delivered; 0 before the first list has ended.
  std::int64_t revision() const;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace kvorum::sync
