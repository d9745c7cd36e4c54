#include "auth/password.h"

#include <crypt.h>
#include <openssl/crypto.h>

#include <algorithm>

#include "base/api_errors.h"
#include "base/base64.h"
#include "base/check.h"

namespace kvorum::auth {
namespace {

// "$2b$10$" + 22 letters of salt + 31 letters of hash.
constexpr std::size_t kSaltAt = 7;
constexpr std::size_t kHashAt = 29;
// Go's variant of the algorithm, under libcrypt's letter.
constexpr char kTrueVariant = 'b';
constexpr char kWrittenVariant = 'a';

bool IsBcryptLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '/';
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsBcryptHash(std::string_view hash) {
  if (hash.size() != kHashSizeBytes || !hash.starts_with("$2") || hash[3] != '$' || hash[6] != '$')
    return false;
  if (hash[2] != 'a' && hash[2] != 'b' && hash[2] != 'y') return false;
  if (!IsDigit(hash[4]) || !IsDigit(hash[5])) return false;
  const int cost = (hash[4] - '0') * 10 + (hash[5] - '0');
  return cost >= kMinBcryptCost && cost <= kMaxBcryptCost &&
         std::ranges::all_of(hash.substr(kSaltAt), IsBcryptLetter);
}

}  // namespace

struct Bcrypt::Scratch {
  crypt_data data;
};

BcryptSalt MakeSalt(const RandomBytes& random) {
  BcryptSalt salt{};
  random(salt);
  return salt;
}

Result<void> CheckPassword(std::string_view password) {
  if (password.size() > kMaxPasswordSizeBytes) return kErrPasswordTooLong.Fail();
  if (password.find('\0') != std::string_view::npos) return kErrPasswordHasZeroByte.Fail();
  return {};
}

Bcrypt::Bcrypt() : scratch_(std::make_unique<Scratch>()) {}
Bcrypt::~Bcrypt() { OPENSSL_cleanse(&scratch_->data, sizeof(scratch_->data)); }

bool Bcrypt::Run(std::string_view password, const char* setting, Hash& hash) {
  if (!CheckPassword(password)) return false;
  char phrase[kMaxPasswordSizeBytes + 1] = {};
  std::ranges::copy(password, phrase);
  const char* made = crypt_rn(phrase, setting, &scratch_->data, sizeof(scratch_->data));
  OPENSSL_cleanse(phrase, sizeof(phrase));
  if (made == nullptr || !IsBcryptHash(made)) return false;
  std::copy_n(made, kHashSizeBytes, hash.begin());
  return true;
}

bool Bcrypt::Make(std::string_view password, int cost, const BcryptSalt& salt, Hash& hash) {
  KV_CHECK(cost >= kMinBcryptCost && cost <= kMaxBcryptCost, "auth: a cost that bcrypt has");
  char setting[CRYPT_GENSALT_OUTPUT_SIZE];
  const char prefix[] = {'$', '2', kTrueVariant, '$', '\0'};
  if (crypt_gensalt_rn(prefix, static_cast<unsigned long>(cost),
                       reinterpret_cast<const char*>(salt.data()), static_cast<int>(salt.size()),
                       setting, sizeof(setting)) == nullptr ||
      !Run(password, setting, hash))
    return false;
  hash[2] = kWrittenVariant;
  return true;
}

bool Bcrypt::Verify(std::string_view password, std::string_view hash) {
  if (!IsBcryptHash(hash)) return false;
  char setting[kHashSizeBytes + 1] = {};
  std::copy_n(hash.begin(), kHashSizeBytes, setting);
  setting[2] = kTrueVariant;
  Hash made;
  // The salt's last letter has unused bits and may be spelled differently.
  return Run(password, setting, made) &&
         CRYPTO_memcmp(made.data() + kHashAt, hash.data() + kHashAt, kHashSizeBytes - kHashAt) == 0;
}

std::string DummyHash(int cost) {
  KV_CHECK(cost >= kMinBcryptCost && cost <= kMaxBcryptCost, "auth: a cost that bcrypt has");
  std::string hash = "$2a$00$";
  hash[4] = static_cast<char>('0' + cost / 10);
  hash[5] = static_cast<char>('0' + cost % 10);
  hash.append(kHashSizeBytes - kSaltAt, '.');
  return hash;
}

std::string EncodeHash(std::string_view hash) { return EncodeBase64(Base64::kStandard, hash); }

Result<std::string> DecodeHash(std::string_view base64) {
  auto hash = DecodeBase64(Base64::kStandard, base64);
  if (!hash) return kErrNoPasswordUser.Fail();
  return *std::move(hash);
}

}  // namespace kvorum::auth
