// The Auth service: users, roles, permissions and logging in. Changes go through the log; what is
// asked is answered behind everything that the cluster has committed.
//
// Handlers are called on the call's loop and answer from any thread.
#pragma once

#include <functional>
#include <string>

#include "auth/auth_state.h"
#include "base/shared_bytes.h"
#include "rpc/service.h"
#include "server/call/service_context.h"
#include "server/services/login.h"

namespace kvorum::server {

class AuthService {
 public:
  // Both outlive it and the router.
  AuthService(ServiceContext& context, Login& login) : context_(context), login_(login) {}

  void Register(rpc::Router& router);

 private:
  void RegisterChange(rpc::Router& router, std::string_view name, RequestKind kind,
                      Result<void> (*check)(std::string_view request));
  void UserAdd(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply);
  void UserChangePassword(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply);
  void Authenticate(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply);
  void AuthStatus(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes, rpc::UnaryReply reply);
  void UserGet(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes, rpc::UnaryReply reply);
  void UserList(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes, rpc::UnaryReply reply);
  void RoleGet(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes, rpc::UnaryReply reply);
  void RoleList(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes, rpc::UnaryReply reply);

  void Change(const rpc::Caller& caller, rpc::Loop* loop, RequestKind kind, std::string_view body,
              rpc::UnaryReply reply);
  // The answer is made of the newest state, which the caller may still ask about.
  using Answer = std::move_only_function<Result<SharedBytes>(const auth::AuthState& state)>;
  void Ask(std::string_view method, std::shared_ptr<rpc::CallContext> call, SharedBytes bytes,
           rpc::UnaryReply reply, Answer answer);

  ServiceContext& context_;
  Login& login_;
};

}  // namespace kvorum::server
