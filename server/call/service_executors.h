// The executors that services hand work to.
#pragma once

#include <vector>

#include "base/task.h"

namespace kvorum::rpc {
class Loop;
}  // namespace kvorum::rpc

namespace kvorum::server {

// The executors for work that an I/O loop must not do.
struct ServiceExecutors {
  Executor* timers = nullptr;    // for short timed tasks
  Executor* readers = nullptr;   // for large reads
  Executor* hasher = nullptr;    // for reads of everything
  Executor* digester = nullptr;  // for the SHA-256 of what the hasher read
  // For reads too long for an I/O loop that must not wait behind large ones; empty: the readers'.
  std::vector<Executor*> pages = {};

  // The pages' executor for the calls of this loop, which may be null.
  Executor& PagesOf(const rpc::Loop* loop) const;
};

}  // namespace kvorum::server
