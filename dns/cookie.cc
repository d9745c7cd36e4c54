#include "dns/cookie.h"

#include <bit>

namespace kvorum::dns {
namespace {

constexpr std::string_view kVersion("\x01\0\0\0", 4);  // and three bytes that are reserved
constexpr std::size_t kTimeAt = kClientCookieBytes + kVersion.size();
constexpr std::size_t kOptionBytes = kTimeAt + 4 + 8;
constexpr std::int64_t kOldest_s = 3600;
constexpr std::int64_t kNewest_s = 300;  // ahead of our clock

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    word |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
  return word;
}

// SipHash-2-4.
class SipHash {
 public:
  SipHash(std::uint64_t k0, std::uint64_t k1)
      : v0_(k0 ^ 0x736f6d6570736575U),
        v1_(k1 ^ 0x646f72616e646f6dU),
        v2_(k0 ^ 0x6c7967656e657261U),
        v3_(k1 ^ 0x7465646279746573U) {}

  std::uint64_t Of(std::string_view bytes) {
    const std::uint64_t size = bytes.size();
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) Mix(LittleEndian(bytes.substr(0, 8)));
    Mix(LittleEndian(bytes) | size << 56U);
    v2_ ^= 0xffU;
    for (int i = 0; i < 4; ++i) Round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void Mix(std::uint64_t word) {
    v3_ ^= word;
    Round();
    Round();
    v0_ ^= word;
  }
  void Round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
};

}  // namespace

std::string Cookies::Make(std::string_view client, std::string_view address,
                          std::uint32_t unix_s) const {
  std::string option = std::string(client) + std::string(kVersion);
  for (unsigned shift = 32; shift > 0; shift -= 8)
    option += static_cast<char>(unix_s >> (shift - 8));
  const std::string_view secret(reinterpret_cast<const char*>(secret_.data()), secret_.size());
  SipHash hash(LittleEndian(secret.substr(0, 8)), LittleEndian(secret.substr(8)));
  const std::uint64_t sum = hash.Of(option + std::string(address));
  for (unsigned shift = 0; shift < 64; shift += 8) option += static_cast<char>(sum >> shift);
  return option;
}

bool Cookies::Accepts(std::string_view option, std::string_view address,
                      std::uint32_t unix_s) const {
  if (option.size() != kOptionBytes) return false;
  std::uint32_t made_s = 0;
  for (std::size_t i = 0; i < 4; ++i)
    made_s = made_s << 8U | static_cast<std::uint8_t>(option[kTimeAt + i]);
  const std::int64_t age_s = std::int64_t{unix_s} - made_s;
  if (age_s > kOldest_s || age_s < -kNewest_s) return false;
  const std::string made = Make(option.substr(0, kClientCookieBytes), address, made_s);
  // In constant time: what is guessed right is not to be seen.
  unsigned difference = 0;
  for (std::size_t i = 0; i < made.size(); ++i)
    difference |= static_cast<unsigned>(static_cast<std::uint8_t>(made[i] ^ option[i]));
  return difference == 0;
}

}  // namespace kvorum::dns
