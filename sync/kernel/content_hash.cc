#include "sync/kernel/content_hash.h"

#include <openssl/sha.h>

#include <algorithm>

namespace kvorum::sync {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string ContentHash::Hex() const {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<ContentHash> ContentHash::FromHex(std::string_view text) {
  ContentHash hash;
  if (text.size() != hash.bytes.size() * 2) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    hash.bytes[i / 2] = static_cast<std::uint8_t>(std::size_t{hash.bytes[i / 2]} << 4U | digit);
  }
  return hash;
}

ContentHash HashOf(std::string_view content) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest.data());
  ContentHash hash;
  std::copy_n(digest.begin(), hash.bytes.size(), hash.bytes.begin());
  return hash;
}

}  // namespace kvorum::sync
