// The part of an informer that knows nothing of the type of its values (informer.h): a copy of a
// prefix, its indexes, its recent past, and the listeners that receive changes.
//
// Threading: everything public is thread-safe, and may be called by handlers and by all other
// functions that the informer calls, except that none of them may destroy an informer. The copy is
// changed on the executor alone. Store and executor outlive the informer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"
#include "sync/informer/listener.h"
#include "sync/informer/source.h"
#include "sync/store/index.h"
#include "sync/store/object_map.h"
#include "sync/store/store.h"

namespace kvorum::sync {

struct InformerOptions {
  SourceOptions source = {};
  // The informer looks this often whether a listener is due for a resync (resync.h). It is also the
  // period of listeners that ask for none. Zero: no listener is ever due.
  Duration resync = Duration::zero();
  // The revisions whose snapshots are kept, at most so many, and at most as many as keep so many
  // bytes of objects that have been replaced since.
  std::size_t window = 2048;
  std::size_t window_bytes = 64 * 1024 * 1024;
  // Called with each failure that does not stop the informer: a list that failed, a value that does
  // not decode, a handler or another function of the user's that threw, a period that was raised.
  // Any thread. It must not throw: an exception could not be reported.
  std::function<void(const std::string& text)> on_report = nullptr;
};

// A listener's place in its informer. Letting go of it does nothing.
class ListenerHandle {
 public:
  // No handler runs once it has returned. Called inside a handler it does not wait for the one in
  // progress, its own or another's. Again: does nothing.
  void Remove();
  // The handler has returned from the last of the initial adds.
  bool is_synced() const;
  std::uint64_t handler_errors() const;
  // Counts the times that its queue was full.
  std::uint64_t overflows() const;

 private:
  friend class InformerCore;
  explicit ListenerHandle(std::weak_ptr<Listener> listener) : listener_(std::move(listener)) {}
  std::weak_ptr<Listener> listener_;
};

class InformerCore {
 public:
  // The object of a key; null: it is filtered out. An error, or what it throws, is reported, and
  // the key is not kept.
  using Make = std::function<Result<ObjectRef>(KeyValue&& kv)>;

  InformerCore(Store& store, Executor& executor, InformerOptions options, Make make);
  // Stops it, and waits for handlers in progress.
  ~InformerCore();
  InformerCore(const InformerCore&) = delete;
  InformerCore& operator=(const InformerCore&) = delete;

  // Begins. kFailedPrecondition: it has begun, or was stopped, before.
  Result<void> Run();
  // No handler is called any more. Waits for those in progress, unless it is called by one, or by
  // something else that the library calls.
  void Stop();

  // kFailedPrecondition: the informer was stopped.
  Result<ListenerHandle> AddListener(ListenerOptions options, Listener::Handler handler);
  // The function says the same of an object each time; it may read the informer. An object for
  // which it throws has no value. kAlreadyExists: the name is taken.
  Result<void> AddIndex(const std::string& name, IndexFunction function);

  // The first list has been taken over.
  bool is_listed() const;
  // Everything up to this revision is in the copy.
  std::int64_t revision() const;
  ObjectRef Get(std::string_view key) const;
  ObjectMap Objects() const;
  // The copy as it was at the revision. kOutOfRange: it is older than the window, or still to come.
  Result<ObjectMap> Snapshot(std::int64_t revision) const;
  Result<std::vector<ObjectRef>> ByIndex(std::string_view name, std::string_view value) const;
  Result<std::vector<std::string>> IndexValues(std::string_view name) const;

  // The key as it is in the copy once that is no older than the call; where the copy cannot know
  // (Source::WaitForRevision), as the server has it. Null: the key does not exist.
  // The callback runs on the executor, and must not throw.
  using OnGot = std::move_only_function<void(Result<ObjectRef> got)>;
  void ConsistentGet(std::string key, OnGot on_got);
  // Blocks; not for the executor's own tasks. kDeadlineExceeded: it took longer.
  Result<ObjectRef> ConsistentGet(std::string key, Duration timeout);

  // Those of its copy (Copy::CheckInvariants); for tests.
  void CheckInvariants() const;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace kvorum::sync
