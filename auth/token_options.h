// The text of --auth-token: the kind of tokens that a member issues and accepts.
//
//   simple
//   jwt,sign-method=M[,pub-key=FILE][,priv-key=FILE][,ttl=DURATION]
//   (empty: no tokens; a client is somebody by its certificate only)
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
  std::string sign_method;  // "RS256" …; see jwt.h
  // The files' content: PEM, or for HMAC any bytes. Empty: not given.
  std::string public_key;
  std::string private_key;
  std::chrono::nanoseconds ttl = std::chrono::minutes(5);
};

struct TokenOptions {
  enum class Kind : std::uint8_t { kNone, kSimple, kJwt };
  Kind kind = Kind::kSimple;
  JwtOptions jwt;                    // kJwt
  std::vector<std::string> unknown;  // unknown options of kJwt: worth a warning
};

// Reads the key files. Errors begin with kInvalidAuthOptsText and give the reason.
Result<TokenOptions> ParseTokenOptions(std::string_view text, FileSystem& fs);

}  // namespace kvorum::auth
