// Turns passwords into tokens (Auth.Authenticate), and into hashes.
//
// A login: after everything that the cluster has committed, the password is verified on the
// password threads, a log entry says that the user has logged in, and where that is applied every
// member records the simple token, or this one signs a JWT. If the user was changed between the
// two, it is checked once more.
//
// Nothing of a password gets into the log, a message or an error. An unknown user costs the same as
// a wrong password. Threads: thread-safe; answers come from any thread. Errors: the API's;
// kErrTooManyRequests when more logins wait than the threads can take, for the host that asks for
// the most: hosts take turns, and so do the users of one host.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "auth/jwt.h"
#include "auth/password_work.h"
#include "auth/random_bytes.h"
#include "base/error.h"
#include "base/log/log_rate.h"
#include "rpc/call/call_context.h"
#include "server/apply/apply_result.h"
#include "server/call/reply.h"

namespace kvorum::server {

class Proposer;
struct Reads;

class Login {
 public:
  struct Parts {
    auth::PasswordWork* work = nullptr;
    auth::RandomBytes random = auth::SystemRandomBytes;
    int bcrypt_cost = auth::kDefaultBcryptCost;
    bool gives_simple_tokens = false;
    const auth::JwtTokens* jwt = nullptr;  // null: no JWTs are issued
  };
  // Both outlive this and all its requests.
  Login(Proposer& proposer, const Reads& reads, Parts parts)
      : proposer_(proposer), reads_(reads), parts_(std::move(parts)) {}

  void Authenticate(const rpc::CallContext& call, std::string name, auth::Secret password,
                    Reply<std::string> reply);

  // The hash in the form of the log (base64).
  using HashDone = std::move_only_function<void(Result<std::string> hash)>;
  void Hash(auth::Secret password, HashDone done);

 private:
  struct Attempt;
  class EntryWaiter;

  void LogRefusal(const Attempt& attempt, std::string_view why);
  void Verify(std::unique_ptr<Attempt> attempt);
  void Propose(std::unique_ptr<Attempt> attempt);
  void Entered(std::unique_ptr<Attempt> attempt, ApplyResult result);
  void Sign(std::unique_ptr<Attempt> attempt, raft::Term term, const LoginResult& result);

  Proposer& proposer_;
  const Reads& reads_;
  const Parts parts_;
  std::mutex refusals_mutex_;
  LogRate refusals_;  // guarded by the mutex
};

}  // namespace kvorum::server
