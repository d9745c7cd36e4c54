// Hashes and verifies passwords where that may take its time. In production a pool of threads
// (password_workers.h), in tests an executor (tests/auth/executor_password_work.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "auth/fair_queue.h"
#include "auth/password.h"
#include "auth/secret.h"

namespace kvorum::auth {

struct PasswordJob {
  enum class Kind : std::uint8_t { kHash, kVerify };
  Kind kind = Kind::kVerify;
  Secret password;
  std::string hash{};             // kVerify: the user's, or DummyHash
  int cost = kDefaultBcryptCost;  // kHash
  BcryptSalt salt{};              // kHash
  QueueKey queue_key{};           // askers take turns
};

struct PasswordOutcome {
  bool ok = false;       // kHash: there is a hash; kVerify: the password matches
  std::string hash{};    // kHash
  bool refused = false;  // too many jobs wait already; nothing was done
};

using PasswordDone = std::move_only_function<void(PasswordOutcome outcome)>;

// Thread-safe.
class PasswordWork {
 public:
  virtual ~PasswordWork() = default;
  // `done` is called once: on a dedicated thread of the pool or, for a job that is refused for lack
  // of room, on the submitting thread. It should post, and return. Jobs not started when the pool
  // ends are dropped, their `done` never called.
  virtual void Submit(PasswordJob job, PasswordDone done) = 0;
};

}  // namespace kvorum::auth
