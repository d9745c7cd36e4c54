// Where passwords are hashed and verified: somewhere that may take its time. In production a pool
// of threads (password_workers.h), in tests and the simulation an executor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "auth/fair_queue.h"
#include "auth/password.h"
#include "auth/secret.h"
#include "base/executor.h"

namespace kvorum::auth {

struct PasswordJob {
  enum class Kind : std::uint8_t { kHash, kVerify };
  Kind kind = Kind::kVerify;
  Secret password;
  std::string hash{};             // kVerify: the user's, or DummyHash
  int cost = kDefaultBcryptCost;  // kHash
  BcryptSalt salt{};              // kHash
  Asker asker{};                  // askers take turns
};

struct PasswordOutcome {
  bool ok = false;       // kHash: there is one; kVerify: the password fits
  std::string hash{};    // kHash
  bool refused = false;  // there is too much to do already; nothing was done
};

using PasswordDone = std::move_only_function<void(PasswordOutcome outcome)>;

// Thread-safe.
class PasswordWork {
 public:
  virtual ~PasswordWork() = default;
  // `done` is called once: on a thread of the pool's that does nothing else, or, of a job that is
  // refused for want of room, on one that submits. It should post, and return. What has not been
  // started when the pool ends is dropped, its `done` never called.
  virtual void Submit(PasswordJob job, PasswordDone done) = 0;
};

// Does the job at once. For a password that CheckPassword refuses: not ok.
PasswordOutcome RunPasswordJob(const PasswordJob& job);

// On an executor, which calls `done` too; at most `limit` wait at a time. The executor is drained
// before this ends.
class ExecutorPasswordWork final : public PasswordWork {
 public:
  ExecutorPasswordWork(Executor& executor, std::size_t limit)
      : executor_(executor), limit_(limit) {}
  void Submit(PasswordJob job, PasswordDone done) override;

 private:
  Executor& executor_;
  const std::size_t limit_;
  std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace kvorum::auth
