// The choice of one agent as the janitor: the one whose key hangs on its lease. Another one follows
// within the lease's time and a second after the holder has gone.
//
// Runs on the executor. Store and executor outlive it. Two may believe for a moment that they hold
// it; what they do must be safe with that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/task.h"
#include "sync/store/store.h"

namespace kvorum::consul {

struct JanitorLockOptions {
  std::string key;
  std::string holder;  // the key's value, for people
  std::chrono::seconds ttl{15};
  // Called on the executor.
  std::function<void(bool is_held)> on_change;
  std::function<void(const Error& error)> on_error = {};  // it is tried again; may be null
  std::uint64_t seed = 0;                                 // of the pauses; 0: from the system
};

class JanitorLock {
 public:
  JanitorLock(sync::Store& store, Executor& executor, JanitorLockOptions options);
  ~JanitorLock();
  JanitorLock(const JanitorLock&) = delete;
  JanitorLock& operator=(const JanitorLock&) = delete;
  void Start();
  // Gives the lock up, without waiting for that.
  void Stop();

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace kvorum::consul
