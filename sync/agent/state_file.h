// The file in which an agent's state outlives the agent (agent_state.h). It is replaced atomically,
// so that after a crash it has the old or the new state; mode 0600. One process at a time has it. A
// file that somebody else may have written is refused (base/own_file.h): it tells which lease and
// which services are the agent's.
//
// Thread-safe; writes run on a separate thread, in order.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/executor.h"
#include "sync/agent/agent_state.h"

namespace kvorum::sync {

class StateFile {
 public:
  // Locks the file PATH.lock. kFailedPrecondition if another process has it, or if either file may
  // be another user's.
  static Result<std::unique_ptr<StateFile>> Open(const std::string& path);
  // Writes what is still to be written.
  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  // An empty state if there is no file.
  Result<AgentState> Load() const;
  // Fits SyncerOptions::save. The answer comes on the file's thread.
  void Save(std::string state, std::move_only_function<void(Result<void>)> on_saved);

 private:
  class Lock;
  StateFile(std::string path, std::unique_ptr<Lock> lock);

  const std::string path_;
  const std::unique_ptr<Lock> lock_;
  ThreadExecutor writer_;
};

}  // namespace kvorum::sync
