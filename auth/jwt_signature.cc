#include "auth/jwt_signature.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/api_errors.h"
#include "base/freed_by.h"

namespace kvorum::auth {
namespace {

enum class Family : std::uint8_t { kHmac, kRsa, kRsaPss, kEcdsa, kEdDsa };

struct Method {
  std::string_view name;
  Family family;
  const EVP_MD* (*digest)();
  // ECDSA: OpenSSL's name of the curve and the size of each half of a signature.
  std::string_view curve;
  std::size_t half_size_bytes;
};

const EVP_MD* NoDigest() { return nullptr; }

constexpr Method kMethods[] = {
    {"HS256", Family::kHmac, EVP_sha256, "", 0},
    {"HS384", Family::kHmac, EVP_sha384, "", 0},
    {"HS512", Family::kHmac, EVP_sha512, "", 0},
    {"RS256", Family::kRsa, EVP_sha256, "", 0},
    {"RS384", Family::kRsa, EVP_sha384, "", 0},
    {"RS512", Family::kRsa, EVP_sha512, "", 0},
    {"PS256", Family::kRsaPss, EVP_sha256, "", 0},
    {"PS384", Family::kRsaPss, EVP_sha384, "", 0},
    {"PS512", Family::kRsaPss, EVP_sha512, "", 0},
    {"ES256", Family::kEcdsa, EVP_sha256, "prime256v1", 32},
    {"ES384", Family::kEcdsa, EVP_sha384, "secp384r1", 48},
    {"ES512", Family::kEcdsa, EVP_sha512, "secp521r1", 66},
    {"EdDSA", Family::kEdDsa, NoDigest, "", 0},
};

// The minimum of Go since 1.24; shorter keys are broken.
constexpr int kMinRsaBits = 1024;

using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreedBy<X509_free>>;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, FreedBy<EVP_MD_CTX_free>>;
using DecoderPtr = std::unique_ptr<OSSL_DECODER_CTX, FreedBy<OSSL_DECODER_CTX_free>>;
using EcdsaPtr = std::unique_ptr<ECDSA_SIG, FreedBy<ECDSA_SIG_free>>;

// Clears OpenSSL's error queue at the end of the function that has one of these.
struct ErrorQueueGuard {
  ErrorQueueGuard() = default;
  ~ErrorQueueGuard() { ERR_clear_error(); }
  ErrorQueueGuard(const ErrorQueueGuard&) = delete;
  ErrorQueueGuard& operator=(const ErrorQueueGuard&) = delete;
};

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// ---- keys ----

BioPtr ReadFrom(std::string_view pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Encrypted keys are rejected: no user is there to enter a password.
int NoPassword(char*, int, int, void*) { return 0; }

KeyPtr ReadPrivateKey(std::string_view pem) {
  return KeyPtr(PEM_read_bio_PrivateKey(ReadFrom(pem).get(), nullptr, NoPassword, nullptr));
}

// Reads a "PUBLIC KEY", an "RSA PUBLIC KEY", or the key of a "CERTIFICATE".
KeyPtr ReadPublicKey(std::string_view pem) {
  const CertificatePtr certificate(
      PEM_read_bio_X509(ReadFrom(pem).get(), nullptr, NoPassword, nullptr));
  if (certificate != nullptr) return KeyPtr(X509_get_pubkey(certificate.get()));
  EVP_PKEY* key = nullptr;
  const DecoderPtr decoder(OSSL_DECODER_CTX_new_for_pkey(&key, "PEM", nullptr, nullptr,
                                                         EVP_PKEY_PUBLIC_KEY, nullptr, nullptr));
  if (decoder == nullptr || OSSL_DECODER_from_bio(decoder.get(), ReadFrom(pem).get()) != 1)
    return nullptr;
  return KeyPtr(key);
}

bool IsOfKind(const EVP_PKEY* key, const Method& method) {
  switch (method.family) {
    case Family::kHmac:
      return false;
    case Family::kRsa:
    case Family::kRsaPss:
      return EVP_PKEY_is_a(key, "RSA") == 1 && EVP_PKEY_get_bits(key) >= kMinRsaBits;
    case Family::kEcdsa: {
      std::array<char, 64> curve{};
      return EVP_PKEY_is_a(key, "EC") == 1 &&
             EVP_PKEY_get_group_name(key, curve.data(), curve.size(), nullptr) == 1 &&
             method.curve == curve.data();
    }
    case Family::kEdDsa:
      return EVP_PKEY_is_a(key, "ED25519") == 1;
  }
  return false;
}

// ---- HMAC ----

class HmacSigner final : public JwtSigner {
 public:
  HmacSigner(const Method& method, std::string_view key)
      : JwtSigner(method.name), digest_(method.digest()), key_(key) {}
  ~HmacSigner() override { OPENSSL_cleanse(key_.data(), key_.size()); }

  bool can_sign() const override { return true; }
  Result<std::string> Sign(std::string_view text) const override {
    const ErrorQueueGuard guard;
    std::string signature(EVP_MAX_MD_SIZE, '\0');
    unsigned int size = 0;
    if (HMAC(digest_, key_.data(), static_cast<int>(key_.size()), Bytes(text), text.size(),
             Bytes(signature), &size) == nullptr)
      return Fail(Code::kInternal, "auth: a token could not be signed");
    signature.resize(size);
    return signature;
  }
  bool Verify(std::string_view text, std::string_view signature) const override {
    const auto right = Sign(text);
    return right && right->size() == signature.size() &&
           CRYPTO_memcmp(right->data(), signature.data(), signature.size()) == 0;
  }

 private:
  const EVP_MD* const digest_;
  std::string key_;
};

// ---- key pairs ----

// RFC 7518, section 3.4: both numbers one after the other; OpenSSL uses DER.
std::string HalvesToDer(std::string_view halves) {
  const std::size_t half = halves.size() / 2;
  const EcdsaPtr signature(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(Bytes(halves), static_cast<int>(half), nullptr);
  BIGNUM* s = BN_bin2bn(Bytes(halves) + half, static_cast<int>(half), nullptr);
  if (signature == nullptr || ECDSA_SIG_set0(signature.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return {};
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

std::string DerToHalves(std::string_view der, std::size_t half_size_bytes) {
  const unsigned char* at = Bytes(der);
  const EcdsaPtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  std::string halves(2 * half_size_bytes, '\0');
  const int half = static_cast<int>(half_size_bytes);
  if (signature == nullptr ||
      BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), Bytes(halves), half) != half ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), Bytes(halves) + half, half) != half)
    return {};
  return halves;
}

class KeyPairSigner final : public JwtSigner {
 public:
  KeyPairSigner(const Method& method, KeyPtr key, bool can_sign)
      : JwtSigner(method.name), method_(method), key_(std::move(key)), can_sign_(can_sign) {}

  bool can_sign() const override { return can_sign_; }

  Result<std::string> Sign(std::string_view text) const override {
    if (!can_sign_) return kErrVerifyOnly.Fail();
    const ErrorQueueGuard guard;
    const DigestPtr context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* key_context = nullptr;
    std::size_t size = 0;
    std::string signature;
    bool ok = context != nullptr &&
              EVP_DigestSignInit(context.get(), &key_context, method_.digest(), nullptr,
                                 key_.get()) == 1 &&
              SetPadding(key_context, RSA_PSS_SALTLEN_DIGEST) &&
              EVP_DigestSign(context.get(), nullptr, &size, Bytes(text), text.size()) == 1;
    signature.resize(size);
    ok =
        ok && EVP_DigestSign(context.get(), Bytes(signature), &size, Bytes(text), text.size()) == 1;
    signature.resize(size);
    if (ok && method_.family == Family::kEcdsa)
      signature = DerToHalves(signature, method_.half_size_bytes);
    if (!ok || signature.empty()) return Fail(Code::kInternal, "auth: a token could not be signed");
    return signature;
  }

  bool Verify(std::string_view text, std::string_view signature) const override {
    const ErrorQueueGuard guard;
    std::string der;
    if (method_.family == Family::kEcdsa) {
      if (signature.size() != 2 * method_.half_size_bytes) return false;
      der = HalvesToDer(signature);
      signature = der;
    }
    const DigestPtr context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* key_context = nullptr;
    return !signature.empty() && context != nullptr &&
           EVP_DigestVerifyInit(context.get(), &key_context, method_.digest(), nullptr,
                                key_.get()) == 1 &&
           SetPadding(key_context, RSA_PSS_SALTLEN_AUTO) &&
           EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(text),
                            text.size()) == 1;
  }

 private:
  // Some issuers use another salt size; ours is the digest's.
  bool SetPadding(EVP_PKEY_CTX* context, int salt_size) const {
    return method_.family != Family::kRsaPss ||
           (EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
            EVP_PKEY_CTX_set_rsa_pss_saltlen(context, salt_size) == 1);
  }

  const Method& method_;
  const KeyPtr key_;
  const bool can_sign_;
};

Result<KeyPtr> CheckedKey(KeyPtr key, const Method& method, std::string_view which) {
  if (key == nullptr || !IsOfKind(key.get(), method))
    return Fail(Code::kInvalidArgument, "auth: the " + std::string(which) +
                                            " key is no PEM key that fits the method " +
                                            std::string(method.name));
  return key;
}

}  // namespace

Result<std::unique_ptr<JwtSigner>> JwtSigner::Make(std::string_view method_name,
                                                   std::string_view public_pem,
                                                   std::string_view private_pem) {
  const ErrorQueueGuard guard;
  const Method* method = nullptr;
  for (const Method& each : kMethods)
    if (each.name == method_name) method = &each;
  if (method == nullptr)
    return Fail(Code::kInvalidArgument,
                std::string(kInvalidAuthOptsText) + ": there is no such sign-method");
  if (method->family == Family::kHmac) {
    if (private_pem.empty()) return kErrMissingKey.Fail();
    return std::make_unique<HmacSigner>(*method, private_pem);
  }
  if (private_pem.empty() && public_pem.empty()) return kErrMissingKey.Fail();
  KeyPtr private_key;
  KeyPtr public_key;
  if (!private_pem.empty()) {
    KV_TRY(private_key, CheckedKey(ReadPrivateKey(private_pem), *method, "private"));
  }
  if (!public_pem.empty()) {
    KV_TRY(public_key, CheckedKey(ReadPublicKey(public_pem), *method, "public"));
  }
  if (private_key == nullptr)
    return std::make_unique<KeyPairSigner>(*method, std::move(public_key), false);
  if (public_key != nullptr && EVP_PKEY_eq(private_key.get(), public_key.get()) != 1)
    return kErrKeyMismatch.Fail();
  return std::make_unique<KeyPairSigner>(*method, std::move(private_key), true);
}

}  // namespace kvorum::auth
