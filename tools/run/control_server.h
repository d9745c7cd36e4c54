// The control socket of a running command (control.h): mode 0600, so its user's processes alone can
// ask.
//
// A socket that an earlier process left is replaced; PATH.lock, which stays behind, tells whether
// that process lives. Threading: connections have a thread of their own; handlers are called on the
// executor, one at a time. The destructor waits for a handler in progress, after which none is
// called any more, and removes the socket; replies that are still held are then dropped. The
// executor outlives the server. Cost: rubbish, silence and clients that do not read are bounded by
// ControlLimits, and reach no handler.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/task.h"
#include "tools/run/control.h"

namespace kvorum::ctl {

class ControlServer {
 public:
  // kFailedPrecondition: another process serves there.
  static Result<std::unique_ptr<ControlServer>> Open(const std::string& path, Executor& executor,
                                                     ControlHandlers handlers,
                                                     const ControlLimits& limits = {});
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  class Machine;
  explicit ControlServer(std::unique_ptr<Machine> machine);
  std::unique_ptr<Machine> machine_;
};

}  // namespace kvorum::ctl
