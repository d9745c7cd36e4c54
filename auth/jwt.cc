#include "auth/jwt.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "auth/jwt_signature.h"
#include "auth/token_table.h"
#include "base/api_errors.h"
#include "base/base64.h"

namespace kvorum::auth {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kRememberedTokens = 10'000;
// The latest Unix time in seconds that fits a number of nanoseconds.
constexpr std::int64_t kMaxTime_s = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;

TimePoint FromSeconds(std::int64_t time_s) {
  return {std::clamp<std::int64_t>(time_s, 0, kMaxTime_s) * 1'000'000'000};
}

// Parses an object and refuses duplicate members at its top level: readers differ in which one they
// use.
std::optional<Json> ParseObject(std::string_view text) {
  std::set<std::string> names;
  bool is_ambiguous = false;
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key)
      is_ambiguous |= !names.insert(parsed.get<std::string>()).second;
    return true;
  };
  Json json = Json::parse(text, look, /*allow_exceptions=*/false);
  if (!json.is_object() || is_ambiguous) return std::nullopt;
  return json;
}

// A number that is not negative, without its fraction.
std::optional<std::uint64_t> NumberOf(const Json& claims, const char* name) {
  const auto it = claims.find(name);
  if (it == claims.end()) return std::nullopt;
  if (it->is_number_unsigned()) return it->get<std::uint64_t>();
  if (!it->is_number_float()) return std::nullopt;
  const double value = it->get<double>();
  if (!(value >= 0 && value < 0x1p63)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

std::optional<std::int64_t> TimeOf(const Json& claims, const char* name) {
  const auto number = NumberOf(claims, name);
  if (!number) return std::nullopt;
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(*number, static_cast<std::uint64_t>(kMaxTime_s)));
}

bool IsHeaderOf(std::string_view text, std::string_view method) {
  const auto header = ParseObject(text);
  if (!header || header->contains("crit")) return false;
  const auto alg = header->find("alg");
  return alg != header->end() && alg->is_string() && alg->get_ref<const std::string&>() == method;
}

std::optional<JwtTokens::Claims> ParseClaims(std::string_view text, std::int64_t now_s) {
  const auto claims = ParseObject(text);
  if (!claims) return std::nullopt;
  const auto username = claims->find("username");
  if (username == claims->end() || !username->is_string()) return std::nullopt;
  const auto revision = NumberOf(*claims, "revision");
  const auto expires_s = TimeOf(*claims, "exp");
  if (!revision || !expires_s || *expires_s <= now_s) return std::nullopt;
  if (claims->contains("nbf")) {
    const auto not_before_s = TimeOf(*claims, "nbf");
    if (!not_before_s || *not_before_s > now_s) return std::nullopt;
  }
  return JwtTokens::Claims{username->get<std::string>(), *revision, *expires_s};
}

}  // namespace

struct JwtTokens::Impl {
  Impl(std::unique_ptr<JwtSigner> the_signer, std::chrono::nanoseconds the_ttl)
      : signer(std::move(the_signer)), ttl(the_ttl) {}

  std::shared_ptr<const Claims> Verify(std::string_view token, std::int64_t now_s) const;

  const std::unique_ptr<JwtSigner> signer;
  const std::chrono::nanoseconds ttl;
  TokenTable<std::shared_ptr<const Claims>> verified{kRememberedTokens};
};

std::shared_ptr<const JwtTokens::Claims> JwtTokens::Impl::Verify(std::string_view token,
                                                                 std::int64_t now_s) const {
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  if (first == last || token.find('.', first + 1) != last) return nullptr;
  const auto header = DecodeBase64(Base64::kUrl, token.substr(0, first));
  if (!header || !IsHeaderOf(*header, signer->method())) return nullptr;
  const auto signature = DecodeBase64(Base64::kUrl, token.substr(last + 1));
  if (!signature || !signer->Verify(token.substr(0, last), *signature)) return nullptr;
  // The signature is right, so the text from here on is the issuer's.
  const auto payload = DecodeBase64(Base64::kUrl, token.substr(first + 1, last - first - 1));
  if (!payload) return nullptr;
  auto claims = ParseClaims(*payload, now_s);
  return claims ? std::make_shared<const Claims>(*std::move(claims)) : nullptr;
}

JwtTokens::JwtTokens(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JwtTokens::~JwtTokens() = default;

Result<std::unique_ptr<JwtTokens>> JwtTokens::Make(const JwtOptions& options) {
  KV_TRY(auto signer,
         JwtSigner::Make(options.sign_method, options.public_key, options.private_key));
  return std::unique_ptr<JwtTokens>(
      new JwtTokens(std::make_unique<Impl>(std::move(signer), options.ttl)));
}

bool JwtTokens::can_sign() const { return impl_->signer->can_sign(); }

Result<std::string> JwtTokens::Sign(std::string_view username, std::uint64_t revision,
                                    std::int64_t now_s) const {
  const auto ttl_s = std::chrono::floor<std::chrono::seconds>(impl_->ttl).count();
  const Json header = {{"alg", impl_->signer->method()}, {"typ", "JWT"}};
  const Json claims = {{"username", username}, {"revision", revision}, {"exp", now_s + ttl_s}};
  // A name that is not UTF-8, which no user has, becomes a different one.
  const std::string payload = claims.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string token = EncodeBase64(Base64::kUrl, header.dump());
  token.append(1, '.').append(EncodeBase64(Base64::kUrl, payload));
  KV_TRY(const std::string signature, impl_->signer->Sign(token));
  return token.append(1, '.').append(EncodeBase64(Base64::kUrl, signature));
}

Result<std::shared_ptr<const JwtTokens::Claims>> JwtTokens::Verify(std::string_view token,
                                                                   std::int64_t now_s) const {
  if (token.size() > kMaxTokenSizeBytes) return kErrInvalidAuthToken.Fail();
  const TimePoint now = FromSeconds(now_s);
  if (auto known = impl_->verified.Find(token, now, std::nullopt)) return *std::move(known);
  auto claims = impl_->Verify(token, now_s);
  if (claims == nullptr) return kErrInvalidAuthToken.Fail();
  impl_->verified.Set(token, claims, FromSeconds(claims->expires_s));
  return claims;
}

}  // namespace kvorum::auth
