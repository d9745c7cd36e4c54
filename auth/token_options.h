// The text of --auth-token: which kind of tokens a member gives and takes.
//
//   simple
//   jwt,sign-method=M[,pub-key=FILE][,priv-key=FILE][,ttl=DURATION]
//   (empty: no tokens; only certificates make somebody of a client)
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"

namespace kvorum::auth {

struct JwtOptions {
  std::string sign_method;  // "RS256" …; jwt.h says which there are
  // What the files hold: PEM, or for HMAC any bytes. Empty: not given.
  std::string public_key;
  std::string private_key;
  std::chrono::nanoseconds ttl = std::chrono::minutes(5);
};

struct TokenOptions {
  enum class Kind : std::uint8_t { kNone, kSimple, kJwt };
  Kind kind = Kind::kSimple;
  JwtOptions jwt;                    // kJwt
  std::vector<std::string> unknown;  // options of kJwt that there are none of: worth a warning
};

// Reads the key files. Errors begin with kInvalidAuthOptsText and tell what is wrong.
Result<TokenOptions> ParseTokenOptions(std::string_view text, FileSystem& fs);

}  // namespace kvorum::auth
