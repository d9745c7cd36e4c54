// A keyed hash of a token (SipHash-2-4), and a comparison of two in constant time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kvorum::auth {

using TokenHashKey = std::array<std::uint64_t, 2>;
// From the system's random bytes.
TokenHashKey MakeTokenHashKey();

std::uint64_t HashToken(const TokenHashKey& key, std::string_view token);

bool EqualTokens(std::string_view a, std::string_view b);

}  // namespace kvorum::auth
