// The end of a member that was removed from its cluster. It stays for a while, so that it can still
// tell others that its removal is committed. If it leads it stays until it no longer does, up to a
// limit: the others may not know yet.
//
// Begin may be called by any thread, any number of times; the rest runs on the control executor.
#pragma once

#include <atomic>
#include <functional>

#include "base/task.h"

namespace kvorum::server {

class Removal {
 public:
  explicit Removal(Executor& control) : control_(control) {}

  // Call it before Begin. `ended` runs on the executor, once.
  void Watch(std::function<bool()> is_leading, std::function<void()> ended);
  void Begin();

 private:
  void EndUnlessLeading(TimePoint limit);

  Executor& control_;
  std::function<bool()> is_leading_;
  std::function<void()> ended_;
  std::atomic<bool> has_begun_{false};
};

}  // namespace kvorum::server
