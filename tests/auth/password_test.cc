// Hashes of passwords, compared with those of Go's x/crypto/bcrypt 0.52.
#include "auth/password.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/api_errors.h"
#include "tests/auth/password_hash.h"

namespace kvorum::auth {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view k72Letters =
    "0123456789012345678901234567890123456789012345678901234567890123456789ab";

struct GoHash {
  std::string_view password;
  std::string_view hash;
};
const GoHash kGoHashes[] = {
    {"secret", "$2a$10$GOgvawyQTjKfniIgQxv6fOHDmj049AycdcBSDcteIE1Z3UCjyNZK2"},
    {"", "$2a$04$L1R1gVu1Ip0rCDtFYTlWeOicgurKiJ7.IQwSrSrcCijNwrCA91lz6"},
    {"p\u00e4ssw\u00f6rd\xff\xa3", "$2a$04$GThjDHvF4aFvT6Vw4ccs4uLQ5vcTcGmwAMwpDgpr2DpudVqYGvdhS"},
    {k72Letters, "$2a$04$ShVtjBfRt7UfaVG.aMXs/emgEfp5ytbTbrbZ53Dr7ZOdAotb1qso6"},
    // libcrypt's own "$2a$" differs for these.
    {"\xff\xff\xa3", "$2a$04$8kn0oCQHQ5AVPaEoqYLWDuTYutHATfRsBM4OmCKqZpj5bWf7P27pi"},
    {"\xff\xa3"
     "34\xff\xff\xff\xa3"
     "345",
     "$2a$04$JvIOoBoIKhprEWIOLVSQHu3dcBtgQR5M1KCyAL8ZGIpyElSQnFvJW"},
    {"1\xa3"
     "345",
     "$2a$04$vDsxp7rTNID9hUySV5pvd.5EUC5o4p8UqP6Hf1215.HNkB3TKRicm"},
};

BcryptSalt TestSalt() {
  BcryptSalt salt{};
  for (std::size_t i = 0; i < salt.size(); ++i) salt[i] = static_cast<std::uint8_t>(i * 17);
  return salt;
}

TEST(PasswordTest, GosHashesVerify) {
  for (const GoHash& go : kGoHashes) {
    EXPECT_TRUE(VerifyPassword(go.password, go.hash)) << go.hash;
    EXPECT_FALSE(VerifyPassword(std::string(go.password) + "x", go.hash)) << go.hash;
    if (!go.password.empty()) {
      EXPECT_FALSE(VerifyPassword(go.password.substr(1), go.hash)) << go.hash;
    }
  }
}

TEST(PasswordTest, OursVerifyAndAreSpelledAsGos) {
  for (const GoHash& go : kGoHashes) {
    const auto hash = HashPassword(go.password, kMinBcryptCost, TestSalt());
    ASSERT_TRUE(hash.has_value());
    EXPECT_TRUE(hash->starts_with("$2a$04$")) << *hash;
    EXPECT_EQ(hash->size(), kHashSizeBytes);
    EXPECT_TRUE(VerifyPassword(go.password, *hash));
    EXPECT_FALSE(VerifyPassword("another", *hash));
  }
  EXPECT_TRUE(HashPassword("p", kDefaultBcryptCost, TestSalt())->starts_with("$2a$10$"));
}

TEST(PasswordTest, TheSaltDecidesTheHash) {
  BcryptSalt other = TestSalt();
  other[15] ^= 1;
  EXPECT_EQ(*HashPassword("p", 4, TestSalt()), *HashPassword("p", 4, TestSalt()));
  EXPECT_NE(*HashPassword("p", 4, TestSalt()), *HashPassword("p", 4, other));
}

TEST(PasswordTest, TheThreePrefixesAreTheSame) {
  for (const GoHash& go : kGoHashes) {
    for (const char variant : {'a', 'b', 'y'}) {
      std::string hash(go.hash);
      hash[2] = variant;
      EXPECT_TRUE(VerifyPassword(go.password, hash)) << hash;
    }
  }
}

TEST(PasswordTest, WhatIsNoHashNeverVerifies) {
  const std::string right(kGoHashes[1].hash);
  ASSERT_TRUE(VerifyPassword("", right));
  for (std::size_t i = 0; i < right.size(); ++i)
    EXPECT_FALSE(VerifyPassword("", right.substr(0, i))) << i;
  EXPECT_FALSE(VerifyPassword("", right + "."));
  EXPECT_FALSE(VerifyPassword("", ""));
  EXPECT_FALSE(VerifyPassword("", "*0"));
  for (const auto& [at, letter] :
       {std::pair(2, 'x'), std::pair(2, '$'), std::pair(1, '3'), std::pair(4, ' '),
        std::pair(5, '3'), std::pair(4, '3'), std::pair(6, '.'), std::pair(20, ':'),
        std::pair(40, '\0'), std::pair(40, '$')}) {
    std::string hash = right;
    hash[static_cast<std::size_t>(at)] = letter;
    EXPECT_FALSE(VerifyPassword("", hash)) << hash;
  }
}

TEST(PasswordTest, EveryLetterOfTheHashCounts) {
  const std::string right(kGoHashes[1].hash);
  for (std::size_t i = 29; i < right.size(); ++i) {
    std::string hash = right;
    hash[i] = hash[i] == 'z' ? 'y' : 'z';
    EXPECT_FALSE(VerifyPassword("", hash)) << i;
  }
}

TEST(PasswordTest, PasswordsThatBcryptWouldCutOffAreRefused) {
  const std::string longer = std::string(k72Letters) + "c";
  ASSERT_TRUE(CheckPassword(k72Letters).has_value());
  EXPECT_TRUE(CheckPassword(longer).error() == kErrPasswordTooLong);
  EXPECT_TRUE(HashPassword(longer, 4, TestSalt()).error() == kErrPasswordTooLong);
  EXPECT_FALSE(VerifyPassword(longer, kGoHashes[3].hash));
  EXPECT_TRUE(CheckPassword("secret\0x"sv).error() == kErrPasswordHasZeroByte);
  EXPECT_TRUE(CheckPassword("\0"sv).error() == kErrPasswordHasZeroByte);
  EXPECT_TRUE(HashPassword("a\0b"sv, 4, TestSalt()).error() == kErrPasswordHasZeroByte);
  EXPECT_FALSE(VerifyPassword("secret\0x"sv, kGoHashes[0].hash));
  EXPECT_FALSE(VerifyPassword("\0"sv, kGoHashes[1].hash));
  // Without a hash's worth of work: this would take hours otherwise.
  std::string slow(kGoHashes[1].hash);
  slow[4] = '3';
  slow[5] = '1';
  EXPECT_FALSE(VerifyPassword(std::string(1 << 20, 'p'), slow));
}

TEST(PasswordTest, NothingFitsADummy) {
  const std::string dummy = DummyHash(4);
  EXPECT_EQ(dummy.size(), kHashSizeBytes);
  EXPECT_TRUE(dummy.starts_with("$2a$04$"));
  EXPECT_TRUE(DummyHash(31).starts_with("$2a$31$"));
  for (const GoHash& go : kGoHashes) EXPECT_FALSE(VerifyPassword(go.password, dummy));
}

TEST(PasswordTest, CostsOutsideOfBcryptsAreTheDefault) {
  EXPECT_EQ(EffectiveBcryptCost(4), 4);
  EXPECT_EQ(EffectiveBcryptCost(31), 31);
  for (const std::uint64_t asked : {0ULL, 3ULL, 32ULL, ~0ULL})
    EXPECT_EQ(EffectiveBcryptCost(asked), kDefaultBcryptCost);
}

TEST(PasswordTest, HashesTravelInBase64) {
  const std::string hash(kGoHashes[0].hash);
  EXPECT_EQ(DecodeHash(EncodeHash(hash)).value(), hash);
  EXPECT_EQ(EncodeHash("hash"), "aGFzaA==");
  EXPECT_EQ(DecodeHash("").value(), "");
  EXPECT_TRUE(DecodeHash(hash).error() == kErrNoPasswordUser);
}

TEST(PasswordTest, SaltsAreRandom) {
  std::set<BcryptSalt> salts;
  for (int i = 0; i < 100; ++i) salts.insert(MakeSalt(SystemRandomBytes));
  EXPECT_EQ(salts.size(), 100U);
}

}  // namespace
}  // namespace kvorum::auth
