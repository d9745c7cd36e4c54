// An object with a header in front of its content, which is packed:
//
//   8 bytes  "KVARCH1\n"
//   4 bytes  the header's size, at most kMaxHeaderBytes
//   header   JSON (archive/format/records.h)
//   4 bytes  the CRC-32C of the header
//   4 bytes  the CRC-32C of the rest
//   rest     one gzip member: the content
//
// Integers little-endian. The header alone, which is small, says what the object holds: it can be
// read by a request for a range. The header's SHA-256 of the content makes any change of it
// visible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::archive {

// The maximum size of an object, so that each is stored by one request: that of the stores
// (kMaxObjectBytes in archive/store/object_store.h), which archive/ship compares.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{64} << 20;
// A header within these first bytes of an object is read by one request.
inline constexpr std::size_t kHeadBytes = std::size_t{16} << 10;

std::string Frame(std::string_view header, std::string_view content);

struct Framed {
  std::string_view header;
  std::uint32_t packed_crc = 0;
  std::string_view packed;  // what there is of the content
};
// kDataLoss unless `bytes` begin with a whole header; kOutOfRange if they end within it. Borrows.
Result<Framed> ReadFrame(std::string_view bytes);

// The content; kDataLoss unless it has its CRC, and is one gzip member of exactly so many bytes
// with this SHA-256 in hexadecimal digits.
Result<std::string> Unpack(const Framed& framed, std::uint64_t raw_bytes, std::string_view sha256);

}  // namespace kvorum::archive
