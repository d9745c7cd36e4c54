// The server process: threads, listeners and the member, from options to a clean end.
//
// Owned and called by the main thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "server/process/settings/options.h"

namespace kvorum::server {

class Process {
 public:
  // Binds the ports, opens the data directory and the member; serves nothing yet. An error
  // leaves the data as it was.
  static Result<std::unique_ptr<Process>> Create(const Options& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Joins the cluster and, once the member is published, serves clients. `on_end` is called, on one
  // of the process's threads, when the process must end by itself: its member was removed.
  void Start(std::function<void()> on_end);
  // Ends everything in order: calls in flight, then the log is sealed and the backend committed.
  void Stop();

 private:
  struct Impl;
  explicit Process(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::server
