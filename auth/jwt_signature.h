// Signatures of JSON Web Signature (RFC 7518, section 3; RFC 8037), by OpenSSL: one method and one
// matching key.
//
// Immutable, thread-safe. Leaves OpenSSL's error queue empty, since TLS on the same thread checks
// it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::auth {

class JwtSigner {
 public:
  // `options` has the keys. Errors are those of JwtTokens::Make.
  static Result<std::unique_ptr<JwtSigner>> Make(std::string_view method,
                                                 std::string_view public_key,
                                                 std::string_view private_key);
  virtual ~JwtSigner() = default;

  std::string_view method() const { return method_; }
  virtual bool can_sign() const = 0;
  // Returns the signature's bytes as in RFC 7518; kErrVerifyOnly; kInternal if OpenSSL fails.
  virtual Result<std::string> Sign(std::string_view text) const = 0;
  virtual bool Verify(std::string_view text, std::string_view signature) const = 0;

 protected:
  explicit JwtSigner(std::string_view method) : method_(method) {}

 private:
  const std::string_view method_;  // of the method table
};

}  // namespace kvorum::auth
