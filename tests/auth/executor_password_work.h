// Passwords hashed and verified without threads of their own.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "auth/password_work.h"
#include "base/task.h"
#include "tests/auth/password_hash.h"

namespace kvorum::auth {

// Does the job at once. Not ok for a password that CheckPassword refuses.
inline PasswordOutcome RunPasswordJob(const PasswordJob& job) {
  PasswordOutcome outcome;
  switch (job.kind) {
    case PasswordJob::Kind::kHash:
      if (auto hash = HashPassword(job.password.view(), job.cost, job.salt))
        outcome = {.ok = true, .hash = *std::move(hash)};
      break;
    case PasswordJob::Kind::kVerify:
      outcome.ok = VerifyPassword(job.password.view(), job.hash);
      break;
  }
  return outcome;
}

// Runs jobs on an executor, which calls `done` too; at most `limit` wait at a time. The executor is
// drained before this is destroyed.
class ExecutorPasswordWork final : public PasswordWork {
 public:
  ExecutorPasswordWork(Executor& executor, std::size_t limit)
      : executor_(executor), limit_(limit) {}
  void Submit(PasswordJob job, PasswordDone done) override {
    if (waiting_.fetch_add(1, std::memory_order_relaxed) >= limit_) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      return done({.refused = true});
    }
    executor_.Post([this, job = std::move(job), done = std::move(done)]() mutable {
      PasswordOutcome outcome = RunPasswordJob(job);
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      done(std::move(outcome));
    });
  }

 private:
  Executor& executor_;
  const std::size_t limit_;
  std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace kvorum::auth
