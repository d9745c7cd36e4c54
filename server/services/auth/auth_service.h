// The Auth service: users, roles, permissions and logging in. Changes go through the log; reads are
// answered after everything that the cluster has committed.
//
// Handlers are called on the call's loop and answer from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/entries/request_kind.h"
#include "rpc/call/service.h"
#include "server/call/api.h"
#include "server/call/reply.h"
#include "server/services/auth/login.h"

namespace kvorum::server {

class MethodRegistrar;

class AuthService {
 public:
  // All outlive it and the router.
  AuthService(Proposer& proposer, const Reads& reads, Login& login)
      : proposer_(proposer), reads_(reads), login_(login) {}

  void Register(MethodRegistrar& methods);

 private:
  // A change whose request goes into the log as received.
  template <class Request>
  void RegisterChange(MethodRegistrar& methods, const Method<Request, AuthResult>& method,
                      RequestKind kind);
  // A read that `answer(state, request)` answers: with the newest state, in which the caller must
  // still be allowed to read.
  template <class Request, class Response, class Answer>
  void RegisterQuery(MethodRegistrar& methods, const Method<Request, Response>& method,
                     Answer answer);
  template <class Request, class Response, class Answer>
  void Ask(const Method<Request, Response>& method, const std::shared_ptr<rpc::CallContext>& call,
           Received<Request> query, Reply<Response> reply, const Answer& answer);

  void Enable(const rpc::CallContext& call, Received<EmptyMessage> enable, Reply<AuthResult> reply);
  void UserAdd(const rpc::CallContext& call, Received<UserPasswordRequest> user,
               Reply<AuthResult> reply);
  void UserChangePassword(const rpc::CallContext& call, Received<UserPasswordRequest> user,
                          Reply<AuthResult> reply);
  // Proposes the change with the password's hash, once that is computed.
  template <class Encode>
  void HashAndPropose(const rpc::CallContext& call, Received<UserPasswordRequest> user,
                      RequestKind kind, Encode encode, Reply<AuthResult> reply);
  void Authenticate(const rpc::CallContext& call, Received<AuthenticateRequest> login,
                    Reply<std::string> reply);

  Proposer& proposer_;
  const Reads& reads_;
  Login& login_;
};

}  // namespace kvorum::server
