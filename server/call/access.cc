#include "server/call/access.h"

#include <optional>
#include <utility>

#include "auth/jwt.h"
#include "auth/simple_tokens.h"
#include "base/api_errors.h"
#include "base/log/log_rate.h"
#include "base/log/logging.h"
#include "rpc/io/loop.h"
#include "server/call/request_batcher.h"
#include "server/state/leases.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kToken = "token";
constexpr std::string_view kAuthorization = "authorization";
constexpr std::string_view kBearer = "Bearer ";
// Set by etcd's JSON gateway, which calls with its own certificate.
constexpr std::string_view kGateway = "grpcgateway-accept";

std::optional<std::string_view> TokenOf(const rpc::CallContext& call) {
  auto token = call.Metadata(kToken);
  if (!token.has_value()) token = call.Metadata(kAuthorization);
  if (token.has_value() && token->starts_with(kBearer)) token->remove_prefix(kBearer.size());
  return token;
}

}  // namespace

struct alignas(64) Access::PerLoop {
  AuthStates::Held newest;
  auth::SimpleTokens::Recent tokens;
  LogRate refused_tokens;
};

Access::Access(const Parts& parts)
    : parts_(parts),
      per_loop_(parts.loops == 0 ? nullptr : std::make_unique<PerLoop[]>(parts.loops)),
      lease_keys_([leases = parts.leases](lease::LeaseId id, const VisitKey& visit) {
        return leases->VisitKeysOf(id, visit);
      }) {}

Access::~Access() = default;

Access::PerLoop* Access::Here() const {
  const rpc::Loop* const loop = rpc::Loop::Current();
  return loop != nullptr && loop->index() < parts_.loops ? &per_loop_[loop->index()] : nullptr;
}

Result<auth::Identity> Access::IdentityIn(const auth::AuthState& state,
                                          const rpc::Caller& caller) const {
  if (!state.enabled()) return auth::Identity{};
  const bool has_ended = caller.token.ends_s != 0 && caller.token.ends_s <= WallSeconds();
  if (caller.token_refused || has_ended) return kErrInvalidAuthToken.Fail();
  if (!caller.is_identified) return auth::Identity{};
  const auth::Identity identity{.username = caller.name.view(),
                                .revision = state.revision(),
                                .user = state.FindUser(caller.name.view())};
  // A request admitted by a session that has ended since is refused as its token would be.
  if (caller.token.session_revision != 0 &&
      caller.token.session_revision < state.SessionsSince(identity.user))
    return kErrInvalidAuthToken.Fail();
  if (caller.token.revision == 0) return identity;
  // A JWT is bound to the auth state in which it was issued: it ends when its user's permissions
  // change.
  if (identity.user == nullptr) return kErrInvalidAuthToken.Fail();
  if (caller.token.revision < state.RequiredRevision(identity.user))
    return kErrAuthOldRevision.Fail();
  return identity;
}

const AuthStates::Held& Access::Newest(AuthStates::Held& kept) const {
  PerLoop* const here = Here();
  AuthStates::Held& held = here != nullptr ? here->newest : kept;
  parts_.states->Renew(held);
  return held;
}

const auth::AuthState* Access::StateOf(const mvcc::ReadView& view, AuthStates::State& kept) const {
  if (PerLoop* const here = Here()) {
    parts_.states->Renew(here->newest);
    if (here->newest.version == view.side_version()) return here->newest.state.get();
  }
  kept = parts_.states->At(view.side_version());
  return kept.get();
}

void Access::IdentifyByToken(std::string_view token, const auth::AuthState& state,
                             rpc::Caller& caller) const {
  if (parts_.simple_tokens != nullptr) {
    if (PerLoop* const here = Here()) {
      caller.name = parts_.simple_tokens->Find(token, rpc::Loop::Current()->now(), here->tokens);
    } else if (const auto user = parts_.simple_tokens->Find(token); user != nullptr) {
      caller.name = SharedBytes::Copy(*user);
    }
    // The state was read first: a session that it knows to have ended is not mistaken for a later
    // one.
    caller.token.session_revision = state.revision();
    caller.is_identified = !caller.name.empty();
    if (caller.is_identified) return;
  } else if (parts_.jwt != nullptr) {
    const auto claims = parts_.jwt->Verify(token, WallSeconds());
    caller.token_void = !claims.has_value();
    // A revision that does not exist yet: this member is behind, or the token is another cluster's.
    // Revision 0 is refused: it would be valid for ever.
    if (claims.has_value() && (*claims)->revision != 0 && (*claims)->revision <= state.revision()) {
      caller.name = SharedBytes::Copy((*claims)->username);
      caller.is_identified = true;
      caller.token.revision = (*claims)->revision;
      caller.token.ends_s = (*claims)->expires_s;
      return;
    }
  }
  caller.token_refused = true;
}

void Access::Identify(rpc::CallContext& call, const auth::AuthState& state) const {
  call.caller = {};
  if (!state.enabled()) return;
  if (const auto token = TokenOf(call); token.has_value())
    return IdentifyByToken(*token, state, call.caller);
  if (!parts_.certificates_name_users || !call.certificate_name().has_value()) return;
  if (call.Metadata(kGateway).has_value()) return;
  call.caller.name = *call.certificate_name();
  call.caller.is_identified = true;
}

void Access::AdmitUpToDate(std::shared_ptr<rpc::CallContext> call, Check check, Then then) const {
  if (call->caller.token_void) {
    LogRefusedToken(*call);
    return then(kErrInvalidAuthToken.Fail());
  }
  rpc::Loop* const loop = call->loop();
  parts_.batcher->Read(loop, [this, call = std::move(call), check = std::move(check),
                              then = std::move(then)](const Result<void>& confirmed) mutable {
    if (!confirmed.has_value()) return then(std::unexpected(confirmed.error()));
    auto verdict = Admit(*call, check);
    if (call->caller.token_refused) LogRefusedToken(*call);
    if (verdict.has_value() || verdict.error() != kManyLeaseKeys) return then(std::move(verdict));
    // The loop goes on with other messages of the call's stream, each of which identifies the
    // caller again: it is copied.
    parts_.readers->Post([this, caller = call->caller, call, check = std::move(check),
                          then = std::move(then)]() mutable {
      AuthStates::Held kept;
      const auth::AuthState& state = *Newest(kept).state;
      const auto identity = IdentityIn(state, caller);
      Result<void> verdict = identity.has_value() ? check(AskerOf(state, *identity, kAllLeaseKeys))
                                                  : std::unexpected(identity.error());
      if (call->loop() == nullptr) return then(std::move(verdict));
      call->loop()->Post([call, then = std::move(then), verdict = std::move(verdict)]() mutable {
        then(std::move(verdict));
      });
    });
  });
}

void Access::LogRefusedToken(const rpc::CallContext& call) const {
  if (PerLoop* const here = Here()) {
    if (!here->refused_tokens.Takes(rpc::Loop::Current()->now())) return;
    if (const std::uint64_t more = here->refused_tokens.TakeSuppressed(); more > 0)
      KV_WARN("more invalid auth tokens", {"calls", more});
  }
  KV_WARN("invalid auth token", {"remote", call.peer()}, {"method", call.path()});
}

Result<HeldView> Access::ViewFor(const rpc::Caller& caller, const ViewCheck& check) const {
  for (HeldView::Age age = HeldView::Age::kShared;; age = HeldView::Age::kFresh) {
    KV_TRY(auto view, HeldView::Take(*parts_.store, age));
    if (is_off()) return view;
    AuthStates::State kept;
    const auth::AuthState* const state = StateOf(*view, kept);
    if (state == nullptr) continue;
    KV_TRY(const auth::Identity identity, IdentityIn(*state, caller));
    KV_RETURN_IF_ERROR(check(*state, identity));
    return view;
  }
}

Result<void> Access::CheckReadable(const rpc::Caller& caller,
                                   const std::vector<std::string>& keys) const {
  if (is_off()) return {};
  AuthStates::Held kept;
  const auth::AuthState& state = *Newest(kept).state;
  KV_TRY(const auth::Identity identity, IdentityIn(state, caller));
  if (state.CheckAdmin(identity).has_value()) return {};
  for (const std::string& key : keys) KV_RETURN_IF_ERROR(state.CheckRead(identity, key, {}));
  return {};
}

Result<void> Access::CheckReadable(const rpc::Caller& caller,
                                   const std::vector<lease::LeaseId>& leases) const {
  if (is_off()) return {};
  AuthStates::Held kept;
  const auth::AuthState& state = *Newest(kept).state;
  KV_TRY(const auth::Identity identity, IdentityIn(state, caller));
  if (state.CheckAdmin(identity).has_value()) return {};
  Result<void> verdict;
  const VisitKey visit = [&](std::string_view key) {
    verdict = state.CheckRead(identity, key, {});
    return verdict.has_value();
  };
  for (const lease::LeaseId lease : leases)
    if (!lease_keys_(lease, visit)) break;
  return verdict;
}

Result<auth::Identity> Access::IdentityNow(const rpc::Caller& caller) const {
  if (is_off()) return auth::Identity{};
  if (caller.token.ends_s == 0 && caller.counted_in != 0 &&
      parts_.states->IsNewest(caller.counted_in))
    return auth::Identity{.username = caller.name.view(), .revision = caller.counted_revision};
  AuthStates::Held kept;
  KV_TRY(const auth::Identity identity, IdentityIn(*Newest(kept).state, caller));
  return auth::Identity{.username = identity.username, .revision = identity.revision};
}

}  // namespace kvorum::server
