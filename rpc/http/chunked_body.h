// The framing of a chunked body (RFC 9112, section 7.1), byte by byte. Nothing of it is kept but
// counters: however the bytes are cut, each is looked at once.
//
// Pure; used by one thread. Extensions and trailers are checked and dropped: a trailer never
// becomes a header. Both are bounded, and so is all framing beside the data. The bounds of the
// framing are those of Go's server, that of the trailers is the caller's. After an error the
// connection is unusable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::rpc {

class ChunkedBody {
 public:
  // One chunk's first line.
  static constexpr std::size_t kMaxLineBytes = 4096;
  // The framing beyond what the chunks pay for: each 16 bytes, and two for each byte of its data.
  static constexpr std::size_t kMaxExcessBytes = std::size_t{16} << 10;

  explicit ChunkedBody(std::size_t max_trailer_bytes) : max_trailer_bytes_(max_trailer_bytes) {}

  // Consumes bytes up to the body's end, and appends its data. Returns the number consumed, which
  // is less than all only at the end.
  Result<std::size_t> Put(std::string_view bytes, std::string& body);
  bool done() const { return at_ == At::kDone; }

 private:
  enum class At : std::uint8_t {
    kSize,      // a chunk's first digit
    kMoreSize,  // its next ones
    kSpace,     // after them
    kExtension,
    kLineEnd,  // after the line's CR
    kData,
    kDataReturn,  // after the data
    kDataEnd,
    kTrailer,  // the first byte of a trailer's line, or of the last one
    kTrailerName,
    kTrailerValue,
    kTrailerEnd,
    kLastEnd,
    kDone,
  };

  // Takes one byte of the framing.
  Result<void> Take(char byte);
  Result<void> TakeSize(char byte);
  Result<void> TakeTrailer(char byte);
  // The chunk's first line is complete.
  Result<void> BeginChunk();

  const std::size_t max_trailer_bytes_;
  At at_ = At::kSize;
  std::uint64_t size_bytes_ = 0;  // of the chunk, as far as it is known
  unsigned digits_ = 0;
  std::uint64_t left_bytes_ = 0;  // of its data
  std::size_t line_bytes_ = 0;
  std::size_t excess_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
};

}  // namespace kvorum::rpc
