#include "auth/password_work.h"

#include <utility>

namespace kvorum::auth {

PasswordOutcome RunPasswordJob(const PasswordJob& job) {
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

void ExecutorPasswordWork::Submit(PasswordJob job, PasswordDone done) {
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

}  // namespace kvorum::auth
