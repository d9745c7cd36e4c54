#include "server/process/process/authentication.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "auth/jwt.h"
#include "auth/password_workers.h"
#include "auth/simple_tokens.h"
#include "auth/token_options.h"
#include "base/file_system.h"
#include "base/log/logging.h"
#include "server/call/access.h"
#include "server/process/settings/options.h"
#include "server/replica/member/local_member.h"
#include "server/services/auth/auth_service.h"
#include "server/services/auth/login.h"

namespace kvorum::server {
namespace {

constexpr std::size_t kSweptAtATime = 10'000;
constexpr Duration kSweepInterval = std::chrono::seconds(1);

}  // namespace

Authentication::Authentication(const Options& options, Executor& control)
    : options_(options), control_(control) {}

Authentication::~Authentication() = default;

Result<std::unique_ptr<Authentication>> Authentication::Make(const Options& options,
                                                             Executor& control) {
  std::unique_ptr<Authentication> made(new Authentication(options, control));
  KV_RETURN_IF_ERROR(made->MakeTokens());
  return made;
}

void Authentication::Register(MethodRegistrar& methods, Proposer& proposer, const Reads& reads,
                              auth::PasswordWork& passwords) {
  const int cost = auth::EffectiveBcryptCost(options_.bcrypt_cost);
  if (options_.bcrypt_cost != static_cast<std::uint64_t>(cost)) {
    KV_WARN("use default bcrypt cost instead of the invalid given cost",
            {"min-cost", auth::kMinBcryptCost}, {"max-cost", auth::kMaxBcryptCost},
            {"default-cost", cost}, {"given-cost", options_.bcrypt_cost});
  }
  login_ = std::make_unique<Login>(proposer, reads,
                                   Login::Parts{.work = &passwords,
                                                .bcrypt_cost = cost,
                                                .gives_simple_tokens = simple_tokens_ != nullptr,
                                                .jwt = jwt_.get()});
  service_ = std::make_unique<AuthService>(proposer, reads, *login_);
  service_->Register(methods);
}

Result<void> Authentication::MakeTokens() {
  KV_TRY(const auth::TokenOptions tokens,
         auth::ParseTokenOptions(options_.auth_token, PosixFileSystem()));
  for (const std::string& unknown : tokens.unknown)
    KV_WARN("unknown token specific option", {"option", unknown});
  using Kind = auth::TokenOptions::Kind;
  if (tokens.kind == Kind::kJwt) {
    KV_TRY(jwt_, auth::JwtTokens::Make(tokens.jwt));
  } else if (tokens.kind == Kind::kSimple) {
    constexpr std::uint64_t kLongestTtl = 100ULL * 365 * 24 * 3600;  // practically for ever
    const std::uint64_t ttl_s =
        options_.auth_token_ttl_s == 0 ? 300 : std::min(options_.auth_token_ttl_s, kLongestTtl);
    simple_tokens_ = std::make_unique<auth::SimpleTokens>(
        control_.clock(), auth::SimpleTokens::Options{.ttl = std::chrono::seconds(ttl_s)});
    KV_WARN("simple token is not cryptographically signed");
  }
  return {};
}

const Access& Authentication::Open(LocalMember& member, RequestBatcher& batcher, Executor& readers,
                                   std::size_t loops) {
  access_ =
      std::make_unique<Access>(Access::Parts{.states = &member.auth_states(),
                                             .store = &member.store(),
                                             .leases = &member.leases(),
                                             .batcher = &batcher,
                                             .clock = &control_.clock(),
                                             .readers = &readers,
                                             .simple_tokens = simple_tokens_.get(),
                                             .jwt = jwt_.get(),
                                             .certificates_name_users = options_.client_cert_auth,
                                             .max_txn_ops = options_.max_txn_ops,
                                             .loops = loops});
  return *access_;
}

void Authentication::Start() {
  if (simple_tokens_ != nullptr) control_.Post([this] { Sweep(); });
}

void Authentication::Sweep() {
  simple_tokens_->Sweep(kSweptAtATime);
  control_.PostAt(control_.clock().Now() + kSweepInterval, [this] { Sweep(); });
}

}  // namespace kvorum::server
