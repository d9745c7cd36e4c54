// A watch of a key or a range from now on, over lost connections: what happened before it began is
// not delivered, and after a compaction that took its place away it begins anew.
//
// Everything but Start, Restart and Stop runs on the executor. Store, executor and what the
// callbacks use outlive it. No error ends it; it pauses and tries again until it is stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "sync/kernel/jitter.h"
#include "sync/store/store.h"

namespace kvorum::consul {

struct FollowerOptions {
  std::string key = {};
  std::string end = {};  // as in sync::WatchRequest
  // Everything after this revision will be delivered. There may be a gap before it.
  std::function<void(std::int64_t revision)> on_begin = {};
  // In order, and everything up to the revision; the events may be none.
  std::function<void(std::int64_t revision, const std::vector<sync::Event>& events)> on_events = {};
  // Something failed, and is tried again. May be null.
  std::function<void(const Error& error)> on_error = {};
  sync::BackoffOptions backoff = {};
  std::uint64_t seed = 0;  // of the pauses; 0: from the operating system
};

class Follower {
 public:
  Follower(sync::Store& store, Executor& executor, FollowerOptions options);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  void Start();
  // Begins anew: the store has gone back to an older revision.
  void Restart();
  // Nothing is called any more once it has returned.
  void Stop();

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace kvorum::consul
