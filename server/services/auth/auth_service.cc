#include "server/services/auth/auth_service.h"

#include <utility>

#include "api/auth_messages.h"
#include "auth/auth_record.h"
#include "auth/password.h"
#include "base/api_errors.h"
#include "mvcc/store/store.h"
#include "server/call/access.h"
#include "server/call/member_patches.h"
#include "server/call/method_registrar.h"
#include "server/call/proposer.h"
#include "server/call/reads.h"
#include "server/call/reply_waiter.h"
#include "server/call/request_batcher.h"

namespace kvorum::server {

void AuthService::Register(MethodRegistrar& methods) {
  methods.Add(api::kAuthEnable, this, &AuthService::Enable);
  RegisterChange(methods, api::kAuthDisable, RequestKind::kAuthDisable);
  RegisterChange(methods, api::kUserDelete, RequestKind::kUserDelete);
  RegisterChange(methods, api::kUserGrantRole, RequestKind::kUserGrantRole);
  RegisterChange(methods, api::kUserRevokeRole, RequestKind::kUserRevokeRole);
  RegisterChange(methods, api::kRoleAdd, RequestKind::kRoleAdd);
  RegisterChange(methods, api::kRoleDelete, RequestKind::kRoleDelete);
  RegisterChange(methods, api::kRoleGrantPermission, RequestKind::kRoleGrantPermission);
  RegisterChange(methods, api::kRoleRevokePermission, RequestKind::kRoleRevokePermission);
  methods.Add(api::kUserAdd, this, &AuthService::UserAdd);
  methods.Add(api::kUserChangePassword, this, &AuthService::UserChangePassword);
  methods.Add(api::kAuthenticate, this, &AuthService::Authenticate);

  using auth::AuthState;
  RegisterQuery(methods, api::kAuthStatus,
                [](const AuthState& state, const EmptyMessage&) -> Result<AuthStatusResponse> {
                  return AuthStatusResponse{.enabled = state.enabled(),
                                            .revision = state.revision()};
                });
  RegisterQuery(methods, api::kUserGet,
                [](const AuthState& state, std::string_view name) -> Result<Names> {
                  const auth::User* const user = state.FindUser(name);
                  if (user == nullptr) return kErrUserNotFound.Fail();
                  return Names(user->roles().begin(), user->roles().end());
                });
  RegisterQuery(methods, api::kUserList,
                [](const AuthState& state, const EmptyMessage&) -> Result<Names> {
                  return state.UserNames();
                });
  RegisterQuery(methods, api::kRoleGet,
                [](const AuthState& state, std::string_view name) -> Result<Permissions> {
                  const auth::Role* const role = state.FindRole(name);
                  if (role == nullptr) return kErrRoleNotFound.Fail();
                  return role->ShownPermissions();
                });
  RegisterQuery(methods, api::kRoleList,
                [](const AuthState& state, const EmptyMessage&) -> Result<Names> {
                  return state.RoleNames();
                });
}

// ---- changes ----

template <class Request>
void AuthService::RegisterChange(MethodRegistrar& methods,
                                 const Method<Request, AuthResult>& method, RequestKind kind) {
  methods.Add(method, [this, kind](const std::shared_ptr<rpc::CallContext>& call,
                                   const Received<Request>& change, Reply<AuthResult> reply) {
    ProposeAndReply(proposer_, call->caller, call->loop(), kind, change.bytes.view(),
                    std::move(reply));
  });
}

// It changes nothing while auth is on.
void AuthService::Enable(const rpc::CallContext& call, Received<EmptyMessage> enable,
                         Reply<AuthResult> reply) {
  const bool is_forbidden = reads_.cluster.patches.forbid_auth;
  if (is_forbidden && !reads_.access.state()->enabled())
    return reply.Fail(kErrAuthBesideOlderEtcd.ToError());
  ProposeAndReply(proposer_, call.caller, call.loop(), RequestKind::kAuthEnable,
                  enable.bytes.view(), std::move(reply));
}

void AuthService::UserAdd(const rpc::CallContext& call, Received<UserPasswordRequest> user,
                          Reply<AuthResult> reply) {
  if (user.request.no_password) {
    user.request.hashed_password = {};
    return ProposeAndReply(proposer_, call.caller, call.loop(), RequestKind::kUserAdd,
                           EncodeUserAdd(user.request), std::move(reply));
  }
  HashAndPropose(call, std::move(user), RequestKind::kUserAdd, EncodeUserAdd, std::move(reply));
}

// Without a password the hash is the client's; an empty one disables login.
void AuthService::UserChangePassword(const rpc::CallContext& call,
                                     Received<UserPasswordRequest> user, Reply<AuthResult> reply) {
  const UserPasswordRequest& request = user.request;
  if (request.password.empty()) {
    return ProposeAndReply(
        proposer_, call.caller, call.loop(), RequestKind::kUserChangePassword,
        EncodeChangePassword({.name = request.name, .hashed_password = request.hashed_password}),
        std::move(reply));
  }
  HashAndPropose(call, std::move(user), RequestKind::kUserChangePassword, EncodeChangePassword,
                 std::move(reply));
}

template <class Encode>
void AuthService::HashAndPropose(const rpc::CallContext& call, Received<UserPasswordRequest> user,
                                 RequestKind kind, Encode encode, Reply<AuthResult> reply) {
  auth::Secret password(user.request.password);
  login_.Hash(std::move(password), [=, this, caller = call.caller, user = std::move(user),
                                    reply = std::move(reply)](Result<std::string> hash) mutable {
    if (!hash.has_value()) return reply.Fail(std::move(hash).error());
    user.request.hashed_password = *hash;
    ProposeAndReply(proposer_, caller, nullptr, kind, encode(user.request), std::move(reply));
  });
}

void AuthService::Authenticate(const rpc::CallContext& call, Received<AuthenticateRequest> login,
                               Reply<std::string> reply) {
  login_.Authenticate(call, std::string(login.request.name), auth::Secret(login.request.password),
                      std::move(reply));
}

// ---- reads ----

template <class Request, class Response, class Answer>
void AuthService::RegisterQuery(MethodRegistrar& methods, const Method<Request, Response>& method,
                                Answer answer) {
  methods.Add(method, [this, &method, answer](const std::shared_ptr<rpc::CallContext>& call,
                                              Received<Request> query, Reply<Response> reply) {
    Ask(method, call, std::move(query), std::move(reply), answer);
  });
}

template <class Request, class Response, class Answer>
void AuthService::Ask(const Method<Request, Response>& method,
                      const std::shared_ptr<rpc::CallContext>& call, Received<Request> query,
                      Reply<Response> reply, const Answer& answer) {
  reads_.batcher.Read(call->loop(), [this, &method, call, query = std::move(query),
                                     reply = std::move(reply),
                                     answer](const Result<void>& confirmed) mutable {
    if (!confirmed.has_value()) return reply.Fail(confirmed.error());
    const AuthStates::State state = reads_.access.state();
    Result<auth::Identity> identity = auth::Identity();
    if (state->enabled()) identity = reads_.access.IdentityIn(*state, call->caller);
    if (!identity.has_value()) return reply.Fail(identity.error());
    // Reads are proposals in etcd, and bounded like those.
    if (query.bytes.size() > reads_.limits.max_request_bytes)
      return reply.Fail(kErrRequestTooLarge.ToError());
    if (state->enabled()) {
      const auto allowed = method.admits(reads_.access.AskerOf(*state, *identity), query.request);
      if (!allowed.has_value()) return reply.Fail(allowed.error());
    }
    auto answered = answer(*state, query.request);
    if (!answered.has_value()) return reply.Fail(std::move(answered).error());
    reply.Send(reads_.cluster.Header(reads_.store.revision()), *std::move(answered));
  });
}

}  // namespace kvorum::server
