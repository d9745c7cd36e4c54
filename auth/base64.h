// Base64 in its two spellings (RFC 4648). The URL's is read strictly: no white space, no padding,
// unused bits zero, so that every text that is read is the one that is written. The standard one,
// in which clients may send a hash that all members decode, is read as Go does: ends of lines and
// unused bits are passed over.
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
