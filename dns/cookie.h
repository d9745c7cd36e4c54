// DNS cookies (RFC 7873, in the form of RFC 9018): a client that shows one has received an answer
// at its address before, so that a large answer goes to the sender and not to a victim.
//
// Pure; the secret and the time are passed in. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvorum::dns {

inline constexpr std::size_t kClientCookieBytes = 8;
inline constexpr std::size_t kLeastServerCookieBytes = 8;
inline constexpr std::size_t kMostServerCookieBytes = 32;

class Cookies {
 public:
  using Secret = std::array<std::uint8_t, 16>;
  explicit Cookies(const Secret& secret) : secret_(secret) {}

  // Returns what the option of an answer holds: the client's own part, which has
  // kClientCookieBytes, and ours for its address (in network order).
  std::string Make(std::string_view client, std::string_view address, std::uint32_t unix_s) const;
  // True for an option that Make gave this address within the last hour.
  bool Accepts(std::string_view option, std::string_view address, std::uint32_t unix_s) const;

 private:
  const Secret secret_;
};

}  // namespace kvorum::dns
