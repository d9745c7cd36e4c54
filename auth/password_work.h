// Where passwords are hashed and verified: somewhere that may take its time. In production a pool
// of threads (password_workers.h), in tests and the simulation an executor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "auth/password.h"
#include "base/executor.h"

namespace kvorum::auth {

struct PasswordJob {
  enum class Kind : std::uint8_t { kHash, kVerify };
  Kind kind = Kind::kVerify;
  std::string password;           // wiped when the job is done
  std::string hash;               // kVerify: the user's, or DummyHash
  int cost = kDefaultBcryptCost;  // kHash
  BcryptSalt salt{};              // kHash
};

struct PasswordOutcome {
  bool ok = false;   // kHash: there is one; kVerify: the password fits
  std::string hash;  // kHash
};

using PasswordDone = std::move_only_function<void(PasswordOutcome outcome)>;

// Thread-safe.
class PasswordWork {
 public:
  virtual ~PasswordWork() = default;
  // False: there is too much to do already; then both arguments are as they were. Else `done` is
  // called once, on a thread of the pool's that does nothing else: it should post, and return. What
  // has not been started when the pool ends is dropped, its `done` never called.
  [[nodiscard]] virtual bool Submit(PasswordJob&& job, PasswordDone&& done) = 0;
};

// Does the job at once. For a password that CheckPassword refuses: not ok.
PasswordOutcome RunPasswordJob(PasswordJob& job);

// On an executor, which calls `done` too; at most `limit` wait at a time. The executor is drained
// before this ends.
class ExecutorPasswordWork final : public PasswordWork {
 public:
  ExecutorPasswordWork(Executor& executor, std::size_t limit)
      : executor_(executor), limit_(limit) {}
  [[nodiscard]] bool Submit(PasswordJob&& job, PasswordDone&& done) override;

 private:
  Executor& executor_;
  const std::size_t limit_;
  std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace kvorum::auth
