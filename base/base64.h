// Base64 in its spellings (RFC 4648).
//
// kUrl is read strictly: no white space, no padding, unused bits zero, so that a text that is read
// is the one that is written. kStandard, in which clients may send a hash that all members decode,
// is read as Go does: line ends and unused bits are passed over. kUnpadded is that of gRPC's binary
// metadata: padding may stand or be missing, line ends are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace kvorum {

enum class Base64 : std::uint8_t {
  kStandard,  // + and /, padded
  kUrl,       // - and _, not padded
  kUnpadded,  // + and /, not padded when written
};

// The place of the fault in the text (kStandard: without its line ends). A text that ends too early
// has it at its end.
struct Base64Fault {
  std::size_t offset = 0;
};

std::string EncodeBase64(Base64 spelling, std::string_view bytes);
std::expected<std::string, Base64Fault> DecodeBase64(Base64 spelling, std::string_view text);

}  // namespace kvorum
