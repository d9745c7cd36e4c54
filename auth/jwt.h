// JSON Web Tokens (RFC 7519) in the compact form of RFC 7515, signed and verified by OpenSSL: HS,
// RS, PS, ES with 256, 384, 512, and EdDSA (Ed25519).
//
// Immutable after it is made, but for the cache; thread-safe.
// What is taken: a header whose alg is the one method that is configured (what the header says
// chooses nothing) and that has no `crit`, a signature that is right, claims `username` (text),
// `revision` (a number, not negative) and `exp` (a number of Unix seconds, in the future), `nbf` if
// there is one in the past. base64url without padding and in its one spelling; at most
// kMaxTokenSizeBytes. Everything else is kErrInvalidAuthToken, whatever is wrong with it.
// Cost: verifying takes 20 to 100 µs; a token that was verified is remembered until it ends (the
// last 10,000), then it takes 0.2 µs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "auth/token_options.h"
#include "base/error.h"

namespace kvorum::auth {

class JwtTokens {
 public:
  static constexpr std::size_t kMaxTokenSizeBytes = 8192;

  struct Claims {
    std::string username;
    std::uint64_t revision = 0;
    std::int64_t expires_s = 0;  // Unix time

    friend bool operator==(const Claims&, const Claims&) = default;
  };

  // kErrMissingKey, kErrKeyMismatch, kInvalidArgument for a method that there is not, for what is
  // no key, and for a key that is not of the method's kind. An HMAC key is the private key's bytes.
  static Result<std::unique_ptr<JwtTokens>> Make(const JwtOptions& options);
  ~JwtTokens();

  // With the public key only: verifies, but signs nothing.
  bool can_sign() const;
  // A token that ends `ttl` after now_s (Unix time). kErrVerifyOnly.
  Result<std::string> Sign(std::string_view username, std::uint64_t revision,
                           std::int64_t now_s) const;
  // kErrInvalidAuthToken.
  Result<std::shared_ptr<const Claims>> Verify(std::string_view token, std::int64_t now_s) const;

 private:
  struct Impl;
  explicit JwtTokens(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::auth
