// Tokens that others made and ours; and everything that must not pass for one.
#include "auth/jwt.h"

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <string>
#include <string_view>

#include "auth/jwt_signature.h"
#include "base/api_errors.h"
#include "base/base64.h"
#include "tests/auth/jwt_vectors.h"
#include "tests/damage.h"

namespace kvorum::auth {
namespace {

constexpr std::int64_t kNow_s = 1'800'000'000;
const JwtTokens::Claims kAlice{"alice", 7, 4102444800};

JwtOptions Options(std::string_view method, std::string_view private_key,
                   std::string_view public_key = "") {
  return {std::string(method), std::string(public_key), std::string(private_key),
          std::chrono::minutes(5)};
}
std::unique_ptr<JwtTokens> Make(const JwtOptions& options) {
  auto tokens = JwtTokens::Make(options);
  EXPECT_TRUE(tokens.has_value()) << tokens.error().message;
  return *std::move(tokens);
}
void ExpectNoTokens(const JwtOptions& options, std::string_view message) {
  const auto tokens = JwtTokens::Make(options);
  ASSERT_FALSE(tokens.has_value());
  EXPECT_EQ(tokens.error().message, message);
  EXPECT_EQ(ERR_peek_error(), 0U);
}
void ExpectInvalid(const JwtTokens& tokens, std::string_view token, std::int64_t now_s = kNow_s) {
  const auto claims = tokens.Verify(token, now_s);
  ASSERT_FALSE(claims.has_value()) << token.substr(0, 500);
  EXPECT_TRUE(claims.error() == kErrInvalidAuthToken);
  EXPECT_EQ(ERR_peek_error(), 0U);
}
std::string Url(std::string_view bytes) { return EncodeBase64(Base64::kUrl, bytes); }

// ---- others' tokens ----

TEST(JwtTest, TokensOfAnotherImplementationVerify) {
  for (const auto& vector : vectors::kVectors) {
    SCOPED_TRACE(vector.method);
    const auto tokens = Make(Options(vector.method, vector.private_key));
    const auto claims = tokens->Verify(vector.token, kNow_s);
    ASSERT_TRUE(claims.has_value());
    EXPECT_EQ(**claims, kAlice);
    EXPECT_TRUE(tokens->can_sign());
    if (vector.public_key.empty()) continue;
    const auto verifier = Make(Options(vector.method, "", vector.public_key));
    EXPECT_FALSE(verifier->can_sign());
    ASSERT_TRUE(verifier->Verify(vector.token, kNow_s).has_value());
  }
}

TEST(JwtTest, DamagedTokensDoNotVerify) {
  for (const auto& vector : vectors::kVectors) {
    if (vector.method != "HS256" && vector.method != "EdDSA") continue;
    SCOPED_TRACE(vector.method);
    const auto tokens = Make(Options(vector.method, vector.private_key));
    ASSERT_TRUE(tokens->Verify(vector.token, kNow_s).has_value());
    ForEachCut(vector.token, [&](std::string_view cut) { ExpectInvalid(*tokens, cut); });
    ForEachFlip(vector.token,
                [&](std::string_view flipped, std::size_t) { ExpectInvalid(*tokens, flipped); });
  }
}

TEST(JwtTest, VectorsOfTheRfcs) {
  for (const auto& vector : vectors::kRfcVectors) {
    SCOPED_TRACE(vector.method);
    const bool is_hmac = vector.method == "HS256";
    const std::string key =
        is_hmac ? *DecodeBase64(Base64::kUrl, vector.private_key) : std::string(vector.private_key);
    const auto signer = JwtSigner::Make(vector.method, vector.public_key, key);
    ASSERT_TRUE(signer.has_value()) << signer.error().message;
    const auto signature = DecodeBase64(Base64::kUrl, vector.signature);
    ASSERT_TRUE(signature);
    EXPECT_TRUE((*signer)->Verify(vector.text, *signature));
    EXPECT_FALSE((*signer)->Verify(std::string(vector.text) + "x", *signature));
    // All of these have a unique signature, except ECDSA.
    if ((*signer)->can_sign()) {
      EXPECT_EQ((*signer)->Sign(vector.text).value(), *signature);
    }
  }
}

// ---- ours ----

TEST(JwtTest, WhatIsSignedVerifiesWithThePublicKey) {
  for (const auto& vector : vectors::kVectors) {
    SCOPED_TRACE(vector.method);
    const auto signer = Make(Options(vector.method, vector.private_key, vector.public_key));
    const auto token = signer->Sign("b\u00f6b \"x\"", 12, kNow_s);
    ASSERT_TRUE(token.has_value());
    const auto verifier = vector.public_key.empty()
                              ? Make(Options(vector.method, vector.private_key))
                              : Make(Options(vector.method, "", vector.public_key));
    const auto claims = verifier->Verify(*token, kNow_s);
    ASSERT_TRUE(claims.has_value());
    EXPECT_EQ(**claims, (JwtTokens::Claims{"b\u00f6b \"x\"", 12, kNow_s + 300}));
  }
}

TEST(JwtTest, ATokenIsSpelledAsEtcdSpellsIt) {
  const auto tokens = Make(Options("HS256", vectors::kHmacKey));
  const std::string token = tokens->Sign("alice", 7, 4102444800 - 300).value();
  EXPECT_EQ(token, vectors::kVectors[0].token);
}

TEST(JwtTest, ThePublicKeySignsNothing) {
  for (const auto& vector : vectors::kVectors) {
    if (vector.public_key.empty()) continue;
    const auto verifier = Make(Options(vector.method, "", vector.public_key));
    EXPECT_TRUE(verifier->Sign("alice", 7, kNow_s).error() == kErrVerifyOnly);
  }
}

TEST(JwtTest, ATokenEnds) {
  const auto tokens = Make(Options("HS256", vectors::kHmacKey));
  const std::string token = tokens->Sign("alice", 7, kNow_s).value();
  EXPECT_TRUE(tokens->Verify(token, kNow_s).has_value());
  EXPECT_TRUE(tokens->Verify(token, kNow_s + 299).has_value());
  ExpectInvalid(*tokens, token, kNow_s + 300);  // though it was verified before
  const auto others = Make(Options("HS256", vectors::kHmacKey));
  ExpectInvalid(*others, token, kNow_s + 300);
  EXPECT_TRUE(others->Verify(token, kNow_s + 299).has_value());
}

// ---- keys ----

TEST(JwtTest, KeysComeInManyForms) {
  const auto by_pkcs8 = Make(Options("RS256", vectors::kRsaPkcs8Key));
  const auto by_pkcs1 = Make(Options("RS256", vectors::kRsaPkcs1Key));
  const std::string token = by_pkcs1->Sign("alice", 7, kNow_s).value();
  EXPECT_TRUE(by_pkcs8->Verify(token, kNow_s).has_value());
  for (const std::string_view key :
       {vectors::kRsaPublicKey, vectors::kRsaPkcs1PublicKey, vectors::kRsaCertificate}) {
    EXPECT_TRUE(Make(Options("RS256", "", key))->Verify(token, kNow_s).has_value());
    EXPECT_TRUE(Make(Options("PS512", vectors::kRsaPkcs8Key, key))->can_sign());
  }
}

TEST(JwtTest, KeysThatDoNotFit) {
  const std::string_view missing = "auth: missing key data";
  ExpectNoTokens(Options("HS256", ""), missing);
  ExpectNoTokens(Options("HS256", "", vectors::kRsaPublicKey), missing);
  ExpectNoTokens(Options("RS256", ""), missing);
  ExpectNoTokens(Options("ES256", ""), missing);
  ExpectNoTokens(Options("EdDSA", ""), missing);
  const std::string_view mismatch = "auth: public and private keys don't match";
  ExpectNoTokens(Options("RS256", vectors::kRfcVectors[1].private_key, vectors::kRsaPublicKey),
                 mismatch);
  ExpectNoTokens(Options("ES256", vectors::kES256Key, vectors::kRfcVectors[2].public_key),
                 mismatch);
  ExpectNoTokens(Options("EdDSA", vectors::kRfcVectors[3].private_key, vectors::kEdDSAPublicKey),
                 mismatch);
  for (const std::string_view method : {"RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"}) {
    for (const auto& vector : vectors::kVectors) {
      const bool fits =
          method == vector.method || (method.ends_with("S256") && vector.method[1] == 'S' &&
                                      method[0] != 'E' && vector.method[0] != 'E');
      if (fits) continue;
      ExpectNoTokens(
          Options(method, vector.private_key),
          "auth: the private key is no PEM key that fits the method " + std::string(method));
      if (vector.public_key.empty()) continue;
      ExpectNoTokens(
          Options(method, "", vector.public_key),
          "auth: the public key is no PEM key that fits the method " + std::string(method));
    }
    // A public key is not a private one, and the other way round.
    ExpectNoTokens(
        Options(method, vectors::kRsaPublicKey),
        "auth: the private key is no PEM key that fits the method " + std::string(method));
    ExpectNoTokens(
        Options(method, "", "junk"),
        "auth: the public key is no PEM key that fits the method " + std::string(method));
  }
}

TEST(JwtTest, MethodsThatThereAreNot) {
  for (const std::string_view method : {"", "none", "HS257", "hs256", "RS1", "ES256K", "HS256 "})
    ExpectNoTokens(Options(method, vectors::kHmacKey),
                   "auth: invalid auth options: there is no such sign-method");
}

// ---- invalid tokens ----

TEST(JwtTest, ConfusionOfAlgorithmsIsRefused) {
  // The published attack: a token signed by HMAC with the public key's text as the key.
  for (const std::string_view key : {vectors::kRsaPublicKey, vectors::kRsaCertificate}) {
    const auto verifier = Make(Options("RS256", "", key));
    const auto forger = Make(Options("HS256", key));
    ExpectInvalid(*verifier, forger->Sign("root", 7, kNow_s).value());
  }
  // No method is taken but the one that is configured, not even of the same key.
  for (const auto& verifier_vector : vectors::kVectors) {
    const auto verifier = Make(Options(verifier_vector.method, verifier_vector.private_key));
    for (const auto& vector : vectors::kVectors) {
      if (vector.method == verifier_vector.method) continue;
      ExpectInvalid(*verifier, vector.token);
    }
    ExpectInvalid(*verifier, vectors::kUnsignedToken);
  }
}

TEST(JwtTest, AHeaderThatNamesAnotherMethodIsRefused) {
  // The signature is right by the configured method.
  const auto tokens = Make(Options("HS256", vectors::kHmacKey));
  const auto signer = JwtSigner::Make("HS256", "", vectors::kHmacKey).value();
  const auto sign = [&](std::string_view header) {
    const std::string text =
        Url(header) + "." + Url(R"({"username":"root","revision":7,"exp":4102444800})");
    return text + "." + Url(signer->Sign(text).value());
  };
  EXPECT_TRUE(tokens->Verify(sign(R"({"alg":"HS256"})"), kNow_s).has_value());
  EXPECT_TRUE(tokens->Verify(sign(R"({"typ":"JWT","alg":"HS256","kid":"1"})"), kNow_s).has_value());
  for (const std::string_view header : {R"({"alg":"HS512"})",
                                        R"({"alg":"none"})",
                                        R"({"alg":"None"})",
                                        R"({"alg":"hs256"})",
                                        R"({"alg":"HS256 "})",
                                        R"({"alg":1})",
                                        R"({"alg":null})",
                                        R"({"alg":["HS256"]})",
                                        R"({})",
                                        R"({"typ":"JWT"})",
                                        R"({"alg":"none","alg":"HS256"})",
                                        R"({"alg":"HS256","alg":"none"})",
                                        R"({"alg":"HS256","crit":["exp"]})",
                                        R"(["HS256"])",
                                        R"("HS256")",
                                        "",
                                        "{",
                                        "null",
                                        R"({"alg":"HS256"}x)",
                                        R"({"alg":"HS256",})",
                                        "\xff{\"alg\":\"HS256\"}"})
    ExpectInvalid(*tokens, sign(header));
}

TEST(JwtTest, ClaimsThatAreMissingOrOfAnotherTypeAreRefused) {
  const auto tokens = Make(Options("HS256", vectors::kHmacKey));
  const auto signer = JwtSigner::Make("HS256", "", vectors::kHmacKey).value();
  const auto sign = [&](std::string_view claims) {
    const std::string text = Url(R"({"alg":"HS256","typ":"JWT"})") + "." + Url(claims);
    return text + "." + Url(signer->Sign(text).value());
  };
  const auto revision_of = [&](std::string_view claims) {
    const auto verified = tokens->Verify(sign(claims), kNow_s);
    return verified ? (*verified)->revision : UINT64_MAX;
  };
  // Other JSON writers have such numbers.
  EXPECT_EQ(revision_of(R"({"username":"a","revision":7.0,"exp":4.1024448e9})"), 7U);
  EXPECT_EQ(revision_of(R"({"username":"","revision":0,"exp":4102444800,"more":[{}]})"), 0U);
  EXPECT_EQ(revision_of(R"({"username":"a","revision":18446744073709551614,"exp":1e18})"),
            UINT64_MAX - 1);
  EXPECT_EQ(revision_of(R"({"username":"a","revision":1,"exp":4102444800,"nbf":1800000000})"), 1U);
  for (const std::string_view claims : {
           "",
           "null",
           "7",
           "[]",
           "{}",
           "{",
           R"({"revision":7,"exp":4102444800})",
           R"({"username":7,"revision":7,"exp":4102444800})",
           R"({"username":null,"revision":7,"exp":4102444800})",
           R"({"username":["alice"],"revision":7,"exp":4102444800})",
           R"({"username":"alice","exp":4102444800})",
           R"({"username":"alice","revision":"7","exp":4102444800})",
           R"({"username":"alice","revision":-1,"exp":4102444800})",
           R"({"username":"alice","revision":-1.5,"exp":4102444800})",
           R"({"username":"alice","revision":1e300,"exp":4102444800})",
           R"({"username":"alice","revision":true,"exp":4102444800})",
           R"({"username":"alice","revision":null,"exp":4102444800})",
           R"({"username":"alice","revision":7})",
           R"({"username":"alice","revision":7,"exp":"4102444800"})",
           R"({"username":"alice","revision":7,"exp":null})",
           R"({"username":"alice","revision":7,"exp":-1})",
           R"({"username":"alice","revision":7,"exp":0})",
           R"({"username":"alice","revision":7,"exp":1800000000})",
           R"({"username":"alice","revision":7,"exp":NaN})",
           R"({"username":"alice","revision":7,"exp":4102444800,"nbf":1800000001})",
           R"({"username":"alice","revision":7,"exp":4102444800,"nbf":"x"})",
           R"({"username":"alice","username":"root","revision":7,"exp":4102444800})",
           R"({"username":"alice","revision":7,"exp":1,"exp":4102444800})",
           "{\"username\":\"al\xff\",\"revision\":7,\"exp\":4102444800}",
           R"({"username":"alice","revision":7,"exp":4102444800} x)",
       })
    ExpectInvalid(*tokens, sign(claims));
}

TEST(JwtTest, EveryByteCounts) {
  for (const auto& vector : vectors::kVectors) {
    // Each of a signature by RSA would take long; the others have them all.
    const bool is_slow = vector.method[0] == 'R' || vector.method[0] == 'P';
    const auto tokens = Make(Options(vector.method, vector.private_key));
    for (std::size_t i = 0; i < vector.token.size(); i += is_slow ? 13 : 1) {
      std::string token(vector.token);
      token[i] = token[i] == 'A' ? 'B' : 'A';
      ExpectInvalid(*tokens, token);
      ExpectInvalid(*tokens, vector.token.substr(0, i));
    }
    ExpectInvalid(*tokens, std::string(vector.token) + "A");
    ExpectInvalid(*tokens, std::string(vector.token) + ".");
    ExpectInvalid(*tokens, std::string(vector.token) + "=");
    ExpectInvalid(*tokens, std::string(vector.token) + "\n");
    ExpectInvalid(*tokens, "." + std::string(vector.token));
  }
}

TEST(JwtTest, WhatHasNoShapeIsRefused) {
  const auto tokens = Make(Options("ES256", vectors::kES256Key));
  const std::string header = Url(R"({"alg":"ES256"})");
  const std::string claims = Url(R"({"username":"root","revision":7,"exp":4102444800})");
  const std::string text = header + '.' + claims;
  for (const std::string& token :
       {std::string(), std::string("."), std::string(".."), std::string("..."), text, text + '.',
        std::string("..").insert(1, claims), std::string("abcdefghijklmnop.7")})
    ExpectInvalid(*tokens, token);
  for (const std::size_t size : {0UL, 1UL, 63UL, 64UL, 65UL, 72UL, 1000UL}) {
    for (const char byte : {'\0', '\1', '\xff'}) {
      std::string token = text;
      token.append(1, '.').append(Url(std::string(size, byte)));
      ExpectInvalid(*tokens, token);
    }
  }
}

TEST(JwtTest, HugeTokensAreRefused) {
  const auto tokens = Make(Options("HS256", vectors::kHmacKey));
  ExpectInvalid(*tokens, std::string(JwtTokens::kMaxTokenSizeBytes + 1, 'A'));
  ExpectInvalid(*tokens, std::string(1 << 20, '.'));
  ExpectInvalid(*tokens, Url(std::string(4000, '[')) + ".e30.e30");
  std::string padded;  // valid except for its size
  const auto signer = JwtSigner::Make("HS256", "", vectors::kHmacKey).value();
  for (const std::size_t size : {100UL, JwtTokens::kMaxTokenSizeBytes}) {
    const std::string text = Url(R"({"alg":"HS256"})") + "." +
                             Url(R"({"username":"a","revision":7,"exp":4102444800,"x":")" +
                                 std::string(size, 'x') + "\"}");
    padded = text + "." + Url(signer->Sign(text).value());
    EXPECT_EQ(tokens->Verify(padded, kNow_s).has_value(), size == 100) << size;
  }
}

TEST(JwtTest, AKeyOfAnotherClusterDoesNotVerify) {
  const auto ours = Make(Options("HS256", "our key"));
  const auto theirs = Make(Options("HS256", "their key"));
  ExpectInvalid(*ours, theirs->Sign("root", 7, kNow_s).value());
  const auto rfc = Make(Options("RS256", vectors::kRfcVectors[1].private_key));
  const auto other = Make(Options("RS256", vectors::kRsaPkcs8Key));
  ExpectInvalid(*rfc, other->Sign("root", 7, kNow_s).value());
}

}  // namespace
}  // namespace kvorum::auth
