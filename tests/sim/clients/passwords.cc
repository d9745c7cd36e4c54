#include "tests/sim/clients/passwords.h"

#include "tests/auth/executor_password_work.h"
#include "tests/auth/password_hash.h"

namespace kvorum::sim {

bool Passwords::Fit(const std::string& password, const std::string& hash) {
  const auto [known, is_new] = known_.try_emplace(std::pair(password, hash));
  if (is_new) known->second = auth::VerifyPassword(password, hash);
  return known->second;
}

void LanePasswordWork::Submit(auth::PasswordJob job, auth::PasswordDone done) {
  if (waiting_ >= kMostWaiting) return done({.refused = true});
  ++waiting_;
  lane_.Post([this, job = std::move(job), done = std::move(done)]() mutable {
    --waiting_;
    if (job.kind == auth::PasswordJob::Kind::kHash) return done(auth::RunPasswordJob(job));
    done({.ok = passwords_.Fit(std::string(job.password.view()), job.hash)});
  });
}

}  // namespace kvorum::sim
