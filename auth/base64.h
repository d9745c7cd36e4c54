// Base64 in its two spellings (RFC 4648), read strictly: no white space, padding exactly where it
// belongs, unused bits zero. So every text that is read is the one that is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::auth {

enum class Base64 : std::uint8_t {
  kStandard,  // + and /, padded
  kUrl,       // - and _, not padded
};

std::string EncodeBase64(Base64 spelling, std::string_view bytes);
std::optional<std::string> DecodeBase64(Base64 spelling, std::string_view text);

}  // namespace kvorum::auth
