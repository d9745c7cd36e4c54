// Authentication of clients, assembled from the flags: the tokens that this member issues and
// accepts, logins, and the permission check of each call.
//
// Threading: assembled before any call comes; the parts document their own. Ownership: the context
// and the password workers outlive it, and it outlives the calls.
#pragma once

#include <memory>

#include "base/error.h"
#include "base/task.h"

namespace kvorum::auth {
class JwtTokens;
class PasswordWork;
class SimpleTokens;
}  // namespace kvorum::auth

namespace kvorum::rpc {
class Router;
}  // namespace kvorum::rpc

namespace kvorum::server {

class Access;
class AuthService;
class LocalMember;
class Login;
class RequestBatcher;
struct Options;
struct ServiceContext;

class Authentication {
 public:
  // kInvalidArgument and others for the text of --auth-token, and for its files.
  static Result<std::unique_ptr<Authentication>> Make(const Options& options,
                                                      ServiceContext& context,
                                                      auth::PasswordWork& passwords,
                                                      Executor& control);
  ~Authentication();

  void Register(rpc::Router& router);
  // Null if this member issues none.
  auth::SimpleTokens* simple_tokens() { return simple_tokens_.get(); }
  // From here on the context can check permissions.
  void Open(LocalMember& local_member, RequestBatcher& batcher, std::size_t loops);
  // Starts to remove expired tokens periodically.
  void Start();

 private:
  Authentication(const Options& options, ServiceContext& context, Executor& control);
  Result<void> MakeTokens();
  void Sweep();

  const Options& options_;
  ServiceContext& context_;
  Executor& control_;
  std::unique_ptr<auth::JwtTokens> jwt_;  // one of them, or none
  std::unique_ptr<auth::SimpleTokens> simple_tokens_;
  std::unique_ptr<Login> login_;
  std::unique_ptr<AuthService> service_;
  std::unique_ptr<Access> access_;
};

}  // namespace kvorum::server
