// Base64 in three variants (RFC 4648).
//
// kUrl is decoded strictly: no white space, no padding, unused bits zero, so that a text has only
// one encoding. kStandard, in which clients may send a hash that all members decode, is decoded as
// Go does: line ends and unused bits are ignored. kUnpadded is the variant of gRPC's binary
// metadata: padding is optional, line ends are refused.
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

// The position of the fault in the text (kStandard: not counting its line ends). For a text that
// ends too early it is the text's end.
struct Base64Fault {
  std::size_t offset = 0;
};

std::string EncodeBase64(Base64 spelling, std::string_view bytes);
// The same in kStandard, behind what stands in `out`.
void AppendBase64(std::string& out, std::string_view bytes);
std::expected<std::string, Base64Fault> DecodeBase64(Base64 spelling, std::string_view text);

}  // namespace kvorum
