// The threads that hash and verify passwords, at the lowest priority there is, so that a flood of
// logins takes only the time that nobody else wants.
//
// Thread-safe. The workers run at a priority at which they may not get the processor for long, so
// they hold no lock that anybody else takes, allocate nothing, and call nobody: one more thread of
// ordinary priority gives them their jobs, takes the outcomes and calls `done`.
// Bounds: `queue` jobs of each kind wait, `threads` are being done. What is to be hashed goes
// first: only root can ask for it, and must be able to while strangers try passwords. Of those who
// ask, each gets the same share, and who asks for more is refused (fair_queue.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "auth/password_work.h"

namespace kvorum::auth {

class PasswordWorkers final : public PasswordWork {
 public:
  enum class Priority : std::uint8_t {
    kIdle,  // SCHED_IDLE: only when nothing else wants the processor
    kNice,  // nice 19: a seventieth of a busy processor
  };
  struct Options {
    int threads = 1;
    std::size_t queue = 64;
    Priority priority = Priority::kNice;
  };
  explicit PasswordWorkers(const Options& options);
  // Waits for the jobs that are being done, drops those that wait.
  ~PasswordWorkers() override;

  void Submit(PasswordJob job, PasswordDone done) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::auth
