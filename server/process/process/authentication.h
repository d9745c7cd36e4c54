// Authentication of clients, assembled from the flags: the tokens that this member issues and
// accepts, logins, and the permission check of each call.
//
// Threading: assembled before any call comes; the parts document their own. Ownership: the executor
// outlives it, and it outlives the calls.
#pragma once

#include <memory>

#include "base/error.h"
#include "base/task.h"

namespace kvorum::auth {
class JwtTokens;
class PasswordWork;
class SimpleTokens;
}  // namespace kvorum::auth

namespace kvorum::server {

class Access;
class AuthService;
class LocalMember;
class Login;
class MethodRegistrar;
class Proposer;
class RequestBatcher;
struct Options;
struct Reads;

class Authentication {
 public:
  // kInvalidArgument and others for the text of --auth-token, and for its files.
  static Result<std::unique_ptr<Authentication>> Make(const Options& options, Executor& control);
  ~Authentication();

  // Null if this member issues none.
  auth::SimpleTokens* simple_tokens() { return simple_tokens_.get(); }
  // The permissions of an open member, whose lease keys may be read on `readers`. Once.
  const Access& Open(LocalMember& member, RequestBatcher& batcher, Executor& readers,
                     std::size_t loops);
  // The Auth service; after Open, once. All outlive the calls.
  void Register(MethodRegistrar& methods, Proposer& proposer, const Reads& reads,
                auth::PasswordWork& passwords);
  // Starts to remove expired tokens periodically.
  void Start();

 private:
  Authentication(const Options& options, Executor& control);
  Result<void> MakeTokens();
  void Sweep();

  const Options& options_;
  Executor& control_;
  std::unique_ptr<auth::JwtTokens> jwt_;  // one of them, or none
  std::unique_ptr<auth::SimpleTokens> simple_tokens_;
  std::unique_ptr<Login> login_;
  std::unique_ptr<AuthService> service_;
  std::unique_ptr<Access> access_;
};

}  // namespace kvorum::server
