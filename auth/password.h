// Password hashes: bcrypt, as Go's x/crypto/bcrypt makes and reads them, over libcrypt.
//
// Thread-safe functions. A hash of cost 10 takes some 60 ms of CPU: never call HashPassword or
// VerifyPassword on an executor that serves (password_work.h).
//
// Which passwords there are: any bytes but zero ones, at most 72. bcrypt itself knows no more than
// 72, and libcrypt ends at a zero byte; a longer password, or one that goes on behind a zero byte,
// would fit wherever its beginning fits. So neither is hashed, and neither ever verifies
// (CheckPassword, at once and without a look at any user).
//
// Hashes: "$2a$", "$2b$" and "$2y$" are the same here, as in Go: libcrypt's own reading of "$2a$"
// differs for some passwords, on purpose, so it is never asked for it. New ones say "$2a$", as
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

// What --bcrypt-cost asks for if it is one, else the default (etcd warns then).
constexpr int EffectiveBcryptCost(std::uint64_t asked) {
  return asked >= kMinBcryptCost && asked <= kMaxBcryptCost ? static_cast<int>(asked)
                                                            : kDefaultBcryptCost;
}

using BcryptSalt = std::array<std::uint8_t, 16>;
BcryptSalt MakeSalt(const RandomBytes& random);

// kErrPasswordTooLong, kErrPasswordHasZeroByte. To be asked before anything is hashed or verified;
// a login that fails here is answered kErrAuthFailed.
Result<void> CheckPassword(std::string_view password);

// 60 characters, "$2a$…". The errors of CheckPassword; kInternal if libcrypt cannot.
Result<std::string> HashPassword(std::string_view password, int cost, const BcryptSalt& salt);

// False too for a hash that is none. In time that depends on the hash's cost alone.
bool VerifyPassword(std::string_view password, std::string_view hash);

// The same two with the memory that they need, for who must not allocate. Used by one thread at a
// time. False for what CheckPassword refuses, and if libcrypt cannot.
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

// A hash that no password fits, to verify against where there is no user.
std::string DummyHash(int cost);

// The form of a hash in the requests of the log: standard base64, padded.
std::string EncodeHash(std::string_view hash);
// kErrNoPasswordUser, as etcd has it, for what is no base64. Empty stays empty.
Result<std::string> DecodeHash(std::string_view base64);

}  // namespace kvorum::auth
