#include "server/services/auth_service.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "auth/auth_record.h"
#include "auth/password.h"
#include "base/api_errors.h"
#include "mvcc/store.h"
#include "server/call/access.h"
#include "server/call/interceptors.h"
#include "server/call/reply_waiter.h"
#include "server/call/request_batcher.h"
#include "server/messages/auth_messages.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kService = "etcdserverpb.Auth";

SharedBytes EncodeChanged(const ResponseHeader& header, const AuthResult&) {
  return EncodeHeaderOnly(header);
}

Result<void> CheckNothing(std::string_view) { return {}; }

Result<void> CheckName(std::string_view name) {
  if (name.size() > auth::kMaxNameSizeBytes) return kErrNameTooLong.Fail();
  return {};
}

Result<void> CheckNewName(std::string_view bytes) {
  KV_TRY(const std::string_view name, DecodeName(bytes));
  return CheckName(name);
}

// Whether there is a request to be read at all; what it asks for is judged where it is applied.
template <auto decode>
Result<void> CheckReadable(std::string_view bytes) {
  const auto request = decode(bytes);
  if (!request.has_value()) return std::unexpected(request.error());
  return {};
}

}  // namespace

void AuthService::Register(rpc::Router& router) {
  const auto change = [&](std::string_view name, RequestKind kind, auto check) {
    RegisterChange(router, name, kind, check);
  };
  change("AuthEnable", RequestKind::kAuthEnable, CheckNothing);
  change("AuthDisable", RequestKind::kAuthDisable, CheckNothing);
  change("UserDelete", RequestKind::kUserDelete, CheckReadable<DecodeName>);
  change("UserGrantRole", RequestKind::kUserGrantRole, CheckReadable<DecodeUserRole>);
  change("UserRevokeRole", RequestKind::kUserRevokeRole, CheckReadable<DecodeUserRole>);
  change("RoleAdd", RequestKind::kRoleAdd, CheckNewName);
  change("RoleDelete", RequestKind::kRoleDelete, CheckReadable<DecodeName>);
  change("RoleGrantPermission", RequestKind::kRoleGrantPermission,
         CheckReadable<DecodeGrantPermission>);
  change("RoleRevokePermission", RequestKind::kRoleRevokePermission,
         CheckReadable<DecodeRevokePermission>);
  const auto unary = [&](std::string_view name, auto member) {
    AddUnary(router, context_, kService, name, *this, member);
  };
  unary("UserAdd", &AuthService::UserAdd);
  unary("UserChangePassword", &AuthService::UserChangePassword);
  unary("Authenticate", &AuthService::Authenticate);
  unary("AuthStatus", &AuthService::AuthStatus);
  unary("UserGet", &AuthService::UserGet);
  unary("UserList", &AuthService::UserList);
  unary("RoleGet", &AuthService::RoleGet);
  unary("RoleList", &AuthService::RoleList);
}

// ---- changes ----

void AuthService::RegisterChange(rpc::Router& router, std::string_view name, RequestKind kind,
                                 Result<void> (*check)(std::string_view request)) {
  router.AddUnary(kService, name,
                  Intercepted(context_, AccessRuleOf(kService, name),
                              [this, kind, check](std::shared_ptr<rpc::CallContext> call,
                                                  SharedBytes bytes, rpc::UnaryReply reply) {
                                if (auto sound = check(bytes.view()); !sound.has_value())
                                  return reply.Fail(std::move(sound).error());
                                Change(call->caller, call->loop(), kind, bytes.view(),
                                       std::move(reply));
                              }));
}

void AuthService::Change(const rpc::Caller& caller, rpc::Loop* loop, RequestKind kind,
                         std::string_view body, rpc::UnaryReply reply) {
  context_.ProposeFor(
      caller, loop, kind, body,
      std::make_unique<ReplyWaiter<AuthResult>>(context_, std::move(reply), EncodeChanged),
      context_.limits.request_timeout);
}

void AuthService::UserAdd(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply) {
  auto request = DecodeUserAdd(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  if (auto sound = CheckName(request->name); !sound.has_value())
    return reply.Fail(std::move(sound).error());
  if (request->no_password) {
    request->hashed_password = {};
    return Change(call.caller, call.loop(), RequestKind::kUserAdd, EncodeUserAdd(*request),
                  std::move(reply));
  }
  login_.Hash(auth::Secret(request->password), [this, caller = call.caller, bytes,
                                                request = *request, reply = std::move(reply)](
                                                   Result<std::string> hash) mutable {
    if (!hash.has_value()) return reply.Fail(std::move(hash).error());
    request.hashed_password = *hash;
    Change(caller, nullptr, RequestKind::kUserAdd, EncodeUserAdd(request), std::move(reply));
  });
}

// Without a password, the hash is what the client says; an empty one nobody can log in with.
void AuthService::UserChangePassword(const rpc::CallContext& call, SharedBytes bytes,
                                     rpc::UnaryReply reply) {
  const auto request = DecodeChangePassword(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  if (request->password.empty()) {
    return Change(
        call.caller, call.loop(), RequestKind::kUserChangePassword,
        EncodeChangePassword({.name = request->name, .hashed_password = request->hashed_password}),
        std::move(reply));
  }
  login_.Hash(auth::Secret(request->password),
              [this, caller = call.caller, bytes, request = *request,
               reply = std::move(reply)](Result<std::string> hash) mutable {
                if (!hash.has_value()) return reply.Fail(std::move(hash).error());
                request.hashed_password = *hash;
                Change(caller, nullptr, RequestKind::kUserChangePassword,
                       EncodeChangePassword(request), std::move(reply));
              });
}

void AuthService::Authenticate(const rpc::CallContext& call, SharedBytes bytes,
                               rpc::UnaryReply reply) {
  const auto request = DecodeAuthenticate(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  login_.Authenticate(call, std::string(request->name), auth::Secret(request->password),
                      std::move(reply));
}

// ---- questions ----

void AuthService::Ask(std::string_view method, std::shared_ptr<rpc::CallContext> call,
                      SharedBytes bytes, rpc::UnaryReply reply, Answer answer) {
  const AccessRule& rule = AccessRuleOf(kService, method);
  rpc::Loop* const loop = call->loop();
  context_.batcher->Read(loop, [this, &rule, call = std::move(call), bytes = std::move(bytes),
                                reply = std::move(reply),
                                answer = std::move(answer)](const Result<void>& confirmed) mutable {
    if (!confirmed.has_value()) return reply.Fail(confirmed.error());
    const AuthStates::State state = context_.access->state();
    Result<auth::Identity> identity = auth::Identity();
    if (state->enabled()) identity = context_.access->IdentityIn(*state, call->caller);
    if (!identity.has_value()) return reply.Fail(identity.error());
    // Questions are proposals to etcd, and bounded like those.
    if (bytes.size() > context_.limits.max_request_bytes)
      return reply.Fail(kErrRequestTooLarge.ToError());
    if (state->enabled()) {
      const auto allowed = rule.check({.state = *state,
                                       .identity = *identity,
                                       .lease_keys = context_.access->lease_keys(),
                                       .max_txn_ops = context_.access->max_txn_ops(),
                                       .request = bytes.view()});
      if (!allowed.has_value()) return reply.Fail(allowed.error());
    }
    auto answered = answer(*state);
    if (!answered.has_value()) return reply.Fail(std::move(answered).error());
    reply.Send(*std::move(answered));
  });
}

void AuthService::AuthStatus(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes,
                             rpc::UnaryReply reply) {
  Ask("AuthStatus", std::move(call), std::move(bytes), std::move(reply),
      [this](const auth::AuthState& state) {
        return EncodeAuthStatusResponse(context_.Header(context_.store->revision()),
                                        state.enabled(), state.revision());
      });
}

void AuthService::UserGet(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes,
                          rpc::UnaryReply reply) {
  const auto name = DecodeName(bytes.view());
  if (!name.has_value()) return reply.Fail(name.error());
  Ask("UserGet", std::move(call), bytes, std::move(reply),
      [this, bytes, name = *name](const auth::AuthState& state) -> Result<SharedBytes> {
        const auth::User* const user = state.FindUser(name);
        if (user == nullptr) return kErrUserNotFound.Fail();
        return EncodeNames(context_.Header(context_.store->revision()), user->roles());
      });
}

void AuthService::UserList(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes,
                           rpc::UnaryReply reply) {
  Ask("UserList", std::move(call), std::move(bytes), std::move(reply),
      [this](const auth::AuthState& state) {
        return EncodeNames(context_.Header(context_.store->revision()), state.UserNames());
      });
}

void AuthService::RoleGet(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes,
                          rpc::UnaryReply reply) {
  const auto name = DecodeName(bytes.view());
  if (!name.has_value()) return reply.Fail(name.error());
  Ask("RoleGet", std::move(call), bytes, std::move(reply),
      [this, bytes, name = *name](const auth::AuthState& state) -> Result<SharedBytes> {
        const auth::Role* const role = state.FindRole(name);
        if (role == nullptr) return kErrRoleNotFound.Fail();
        return EncodeRoleGetResponse(context_.Header(context_.store->revision()),
                                     role->ShownPermissions());
      });
}

void AuthService::RoleList(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes,
                           rpc::UnaryReply reply) {
  Ask("RoleList", std::move(call), std::move(bytes), std::move(reply),
      [this](const auth::AuthState& state) {
        return EncodeNames(context_.Header(context_.store->revision()), state.RoleNames());
      });
}

}  // namespace kvorum::server
