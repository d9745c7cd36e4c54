#include "base/digest/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace kvorum {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  KV_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1,
           "SHA-256 is not available");
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::Add(std::string_view bytes) {
  KV_CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1, "SHA-256 fails");
}

std::string Sha256::Finish() {
  std::string digest(kSha256Bytes, '\0');
  unsigned size_bytes = 0;
  KV_CHECK(EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(digest.data()),
                              &size_bytes) == 1 &&
               size_bytes == digest.size(),
           "SHA-256 fails");
  return digest;
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 hash;
  hash.Add(bytes);
  return HexText(hash.Finish());
}

std::string HexText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4U];
    text += kDigits[value & 0xfU];
  }
  return text;
}

}  // namespace kvorum
