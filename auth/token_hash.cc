#include "auth/token_hash.h"

#include <bit>
#include <cstddef>
#include <cstring>

#include "auth/random_bytes.h"

namespace kvorum::auth {
namespace {

// Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), section 2.
struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Compress(std::uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

std::uint64_t WordAt(std::string_view bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

}  // namespace

TokenHashKey MakeTokenHashKey() {
  TokenHashKey key{};
  SystemRandomBytes({reinterpret_cast<std::uint8_t*>(key.data()), sizeof(key)});
  return key;
}

std::uint64_t HashToken(const TokenHashKey& key, std::string_view token) {
  static_assert(std::endian::native == std::endian::little);
  SipState state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                 key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
  std::uint64_t word = 0;
  std::size_t at = 0;
  for (; at + sizeof(word) <= token.size(); at += sizeof(word)) state.Compress(WordAt(token, at));
  if (at < token.size()) std::memcpy(&word, token.data() + at, token.size() - at);
  state.Compress(word | static_cast<std::uint64_t>(token.size()) << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

bool EqualTokens(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  // Like CRYPTO_memcmp, which compares one byte at a time.
  std::uint64_t difference = 0;
  std::size_t at = 0;
  for (; at + sizeof(difference) <= a.size(); at += sizeof(difference))
    difference |= WordAt(a, at) ^ WordAt(b, at);
  for (; at < a.size(); ++at) difference |= static_cast<std::uint64_t>(a[at] ^ b[at]);
  return difference == 0;
}

}  // namespace kvorum::auth
