// Any bytes as a JSON Web Token: as the whole text, and, with a valid signature around them, as the
// header or the claims. Accepted tokens must be valid: a text without our signature never passes,
// and claims that pass are read the same way twice.
//
// The first byte of the input: 0, the rest is the token; 1, the header; else, the claims.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "auth/jwt.h"
#include "auth/jwt_signature.h"
#include "base/base64.h"

namespace {

using namespace kvorum;
using namespace kvorum::auth;

constexpr std::int64_t kNow_s = 1'800'000'000;
constexpr std::string_view kKey = "a key that no input knows";

void Require(bool condition) {
  if (!condition) std::abort();
}

std::string Url(std::string_view bytes) { return EncodeBase64(Base64::kUrl, bytes); }

const JwtTokens& Tokens() {
  static const auto tokens = JwtTokens::Make({"HS256", "", std::string(kKey)}).value();
  return *tokens;
}

std::string Signed(std::string_view header, std::string_view claims) {
  static const auto signer = JwtSigner::Make("HS256", "", kKey).value();
  const std::string text = Url(header) + "." + Url(claims);
  return text + "." + Url(signer->Sign(text).value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 0) {
    Require(!Tokens().Verify(rest, kNow_s).has_value());
    return 0;
  }
  const std::string token = data[0] == 1
                                ? Signed(rest, R"({"username":"u","revision":1,"exp":1800000001})")
                                : Signed(R"({"alg":"HS256"})", rest);
  const auto first = Tokens().Verify(token, kNow_s);
  const auto again = Tokens().Verify(token, kNow_s);
  Require(first.has_value() == again.has_value());
  if (!first) return 0;
  Require(**first == **again && (*first)->expires_s > kNow_s);
  Require(!Tokens().Verify(token, (*first)->expires_s).has_value());
  return 0;
}
