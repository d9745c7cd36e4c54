// The signatures of JSON Web Signature (RFC 7518, section 3; RFC 8037), over OpenSSL: one method
// and one key, which fit each other.
//
// Immutable, thread-safe. Leaves nothing behind in OpenSSL's queue of errors, which TLS on the same
// thread looks at.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::auth {

class JwtSigner {
 public:
  // Keys as JwtOptions has them. The errors of JwtTokens::Make.
  static Result<std::unique_ptr<JwtSigner>> Make(std::string_view method,
                                                 std::string_view public_key,
                                                 std::string_view private_key);
  virtual ~JwtSigner() = default;

  std::string_view method() const { return method_; }
  virtual bool can_sign() const = 0;
  // The bytes as RFC 7518 has them; kErrVerifyOnly; kInternal if OpenSSL cannot.
  virtual Result<std::string> Sign(std::string_view text) const = 0;
  virtual bool Verify(std::string_view text, std::string_view signature) const = 0;

 protected:
  explicit JwtSigner(std::string_view method) : method_(method) {}

 private:
  const std::string_view method_;  // of the table
};

}  // namespace kvorum::auth
