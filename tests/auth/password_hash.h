// One password hashed or compared, with the memory that it takes.
#pragma once

#include <string>
#include <string_view>

#include "auth/password.h"

namespace kvorum::auth {

inline Result<std::string> HashPassword(std::string_view password, int cost,
                                        const BcryptSalt& salt) {
  KV_RETURN_IF_ERROR(CheckPassword(password));
  Bcrypt::Hash hash;
  if (!Bcrypt().Make(password, cost, salt, hash)) return Fail(Code::kInternal, "not hashed");
  return std::string(hash.begin(), hash.end());
}

inline bool VerifyPassword(std::string_view password, std::string_view hash) {
  return Bcrypt().Verify(password, hash);
}

}  // namespace kvorum::auth
