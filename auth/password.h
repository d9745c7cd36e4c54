// Password hashes: bcrypt, as Go's x/crypto/bcrypt makes and reads them, by libcrypt.
//
// Thread-safe functions. A hash of cost 10 takes some 60 ms of CPU: never make or compare one on an
// executor that serves (password_work.h).
//
// Passwords have at most 72 bytes, none of them zero. bcrypt itself ignores everything after 72
// bytes, and libcrypt everything after a zero byte, so a longer password would match wherever its
// beginning matches. Such passwords are never hashed and never verify (CheckPassword, which answers
// at once and without looking up a user).
//
// Hashes: "$2a$", "$2b$" and "$2y$" are the same here, as in Go: libcrypt deliberately treats
// "$2a$" differently for some passwords, so it is never given "$2a$". New hashes have "$2a$", like
// Go's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "auth/random_bytes.h"
#include "base/error.h"

namespace kvorum::auth {

inline constexpr int kMinBcryptCost = 4;
inline constexpr int kMaxBcryptCost = 31;
inline constexpr int kDefaultBcryptCost = 10;
inline constexpr std::size_t kMaxPasswordSizeBytes = 72;
inline constexpr std::size_t kHashSizeBytes = 60;

// The value of --bcrypt-cost if it is a valid cost, else the default (etcd warns then).
constexpr int EffectiveBcryptCost(std::uint64_t asked) {
  return asked >= kMinBcryptCost && asked <= kMaxBcryptCost ? static_cast<int>(asked)
                                                            : kDefaultBcryptCost;
}

using BcryptSalt = std::array<std::uint8_t, 16>;
BcryptSalt MakeSalt(const RandomBytes& random);

// kErrPasswordTooLong, kErrPasswordHasZeroByte. Call it before hashing or verifying; a login that
// fails here is answered with kErrAuthFailed.
Result<void> CheckPassword(std::string_view password);

// Makes and compares hashes, "$2a$…", in preallocated memory, for callers that must not allocate.
// Used by one thread at a time. Returns false for passwords that CheckPassword refuses, and if
// libcrypt fails; Verify for a malformed hash too, and its time depends on the hash's cost alone.
class Bcrypt {
 public:
  using Hash = std::array<char, kHashSizeBytes>;

  Bcrypt();
  ~Bcrypt();
  [[nodiscard]] bool Make(std::string_view password, int cost, const BcryptSalt& salt, Hash& hash);
  [[nodiscard]] bool Verify(std::string_view password, std::string_view hash);

 private:
  bool Run(std::string_view password, const char* setting, Hash& hash);

  struct Scratch;
  const std::unique_ptr<Scratch> scratch_;
};

// A hash that no password matches, to verify against when the user does not exist.
std::string DummyHash(int cost);

// The form of a hash in the requests of the log: standard base64, padded.
std::string EncodeHash(std::string_view hash);
// kErrNoPasswordUser, as in etcd, for text that is not base64. Empty stays empty.
Result<std::string> DecodeHash(std::string_view base64);

}  // namespace kvorum::auth
