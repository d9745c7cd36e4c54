// The two threads that hash and verify passwords. One has ordinary priority and a budget of
// processor time (cpu_budget.h): an occasional login takes no longer than its work, on a busy host
// too. The other has the lowest priority: work beyond the budget, a flood, takes only time that is
// otherwise unused.
//
// Thread-safe. The patient worker may not get the processor for long, so the workers hold no lock
// that another thread takes, allocate nothing and run no callback: a third thread gives them jobs,
// takes the outcomes and calls `done`. Bounds: `queue` jobs of each kind wait, two are being done.
// Passwords to hash go first: only root can request that, and must be able to while strangers guess
// passwords. Askers get equal shares, and an asker beyond its share is refused (fair_queue.h).
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
    // The prompt worker's: seven logins at once at bcrypt's default cost, then one every 1.3 s.
    CpuBudget::Options budget{.share = 0.05, .burst = std::chrono::milliseconds(500)};
    Priority priority = Priority::kNice;  // of the patient worker
    Clock* clock = &SystemClock();
  };
  explicit PasswordWorkers(const Options& options);
  // Waits for the jobs in progress, drops those that wait.
  ~PasswordWorkers() override;

  void Submit(PasswordJob job, PasswordDone done) override;

  // The numbers of jobs done by each worker.
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
