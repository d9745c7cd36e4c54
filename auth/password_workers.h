// The two threads that hash and verify passwords. One has the priority of all others, and a budget
// of processor time (cpu_budget.h): a login now and then takes no longer than the work does, on a
// busy host too. One has the lowest priority there is: what goes beyond the budget, a flood, takes
// only the time that nobody else wants.
//
// Thread-safe. The patient worker may not get the processor for long, so the workers hold no lock
// that anybody else takes, allocate nothing, and call nobody: one more thread gives them their
// jobs, takes the outcomes and calls `done`.
// Bounds: `queue` jobs of each kind wait, two are being done. What is to be hashed goes
// first: only root can ask for it, and must be able to while strangers try passwords. Of those who
// ask, each gets the same share, and who asks for more is refused (fair_queue.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "auth/cpu_budget.h"
#include "auth/password_work.h"
#include "base/clock.h"

namespace kvorum::auth {

class PasswordWorkers final : public PasswordWork {
 public:
  enum class Priority : std::uint8_t {
    kIdle,  // SCHED_IDLE: only when nothing else wants the processor
    kNice,  // nice 19: a seventieth of a busy processor
  };
  struct Options {
    std::size_t queue = 64;
    // The prompt worker's: at the default cost of bcrypt seven logins at once, then one in 1.3 s.
    CpuBudget::Options budget{.share = 0.05, .burst = std::chrono::milliseconds(500)};
    Priority priority = Priority::kNice;  // of the patient one
    Clock* clock = &SystemClock();
  };
  explicit PasswordWorkers(const Options& options);
  // Waits for the jobs that are being done, drops those that wait.
  ~PasswordWorkers() override;

  void Submit(PasswordJob job, PasswordDone done) override;

  // Jobs that were done by each worker.
  struct Counts {
    std::uint64_t prompt = 0;
    std::uint64_t patient = 0;
  };
  Counts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::auth
