#include "rpc/http/chunked_body.h"

#include <algorithm>
#include <utility>

namespace kvorum::rpc {
namespace {

constexpr unsigned kMaxSizeDigits = 16;
// Each chunk pays for so much framing.
constexpr std::uint64_t kEarnedByChunk = 16;
constexpr std::uint64_t kEarnedByByte = 2;

constexpr int HexDigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool IsSpaceOrTab(char c) { return c == ' ' || c == '\t'; }
// RFC 9110, section 5.5: a field's value, or an extension.
constexpr bool IsTextByte(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
}
// RFC 9110, section 5.6.2.
constexpr bool IsTokenByte(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::unexpected<Error> BadChunk() { return Fail(Code::kInvalidArgument, "HTTP: bad chunk"); }

}  // namespace

Result<std::size_t> ChunkedBody::Put(std::string_view bytes, std::string& body) {
  std::size_t used = 0;
  while (used < bytes.size() && !done()) {
    if (at_ != At::kData) {
      KV_RETURN_IF_ERROR(Take(bytes[used++]));
      continue;
    }
    const std::size_t taken = std::min<std::uint64_t>(left_bytes_, bytes.size() - used);
    body.append(bytes.substr(used, taken));
    used += taken;
    left_bytes_ -= taken;
    if (left_bytes_ == 0) at_ = At::kDataReturn;
  }
  return used;
}

Result<void> ChunkedBody::Take(char byte) {
  switch (at_) {
    case At::kSize:
    case At::kMoreSize:
    case At::kSpace:
    case At::kExtension:
      return TakeSize(byte);
    case At::kLineEnd:
      return byte == '\n' ? BeginChunk() : BadChunk();
    case At::kDataReturn:
      at_ = At::kDataEnd;
      return byte == '\r' ? Result<void>() : BadChunk();
    case At::kDataEnd:
      at_ = At::kSize;
      return byte == '\n' ? Result<void>() : BadChunk();
    case At::kTrailer:
    case At::kTrailerName:
    case At::kTrailerValue:
    case At::kTrailerEnd:
    case At::kLastEnd:
      return TakeTrailer(byte);
    case At::kData:
    case At::kDone:
      break;
  }
  return {};
}

Result<void> ChunkedBody::TakeSize(char byte) {
  if (++line_bytes_ > kMaxLineBytes)
    return Fail(Code::kInvalidArgument, "HTTP: a chunk's line is too long");
  const int digit = HexDigitOf(byte);
  const bool expects_digit = at_ == At::kSize || at_ == At::kMoreSize;
  if (expects_digit && digit >= 0) {
    if (++digits_ > kMaxSizeDigits) return BadChunk();
    size_bytes_ = size_bytes_ << 4 | static_cast<unsigned>(digit);
    at_ = At::kMoreSize;
    return {};
  }
  if (at_ == At::kSize) return BadChunk();
  if (byte == '\r') {
    at_ = At::kLineEnd;
  } else if (at_ == At::kExtension) {
    return IsTextByte(byte) ? Result<void>() : BadChunk();
  } else if (byte == ';') {
    at_ = At::kExtension;
  } else if (IsSpaceOrTab(byte)) {
    at_ = At::kSpace;
  } else {
    return BadChunk();
  }
  return {};
}

Result<void> ChunkedBody::BeginChunk() {
  excess_bytes_ += std::exchange(line_bytes_, 0);
  const std::uint64_t size_bytes = std::exchange(size_bytes_, 0);
  digits_ = 0;
  // A size that would overflow earns more than any framing costs.
  const std::uint64_t earned =
      kEarnedByChunk + kEarnedByByte * std::min<std::uint64_t>(size_bytes, kMaxExcessBytes);
  excess_bytes_ -= std::min<std::uint64_t>(excess_bytes_, earned);
  if (excess_bytes_ > kMaxExcessBytes)
    return Fail(Code::kInvalidArgument, "HTTP: too much around the chunks");
  left_bytes_ = size_bytes;
  at_ = size_bytes == 0 ? At::kTrailer : At::kData;
  return {};
}

Result<void> ChunkedBody::TakeTrailer(char byte) {
  if (++trailer_bytes_ > max_trailer_bytes_)
    return Fail(Code::kResourceExhausted, "HTTP: the trailers are too large");
  const auto malformed = [] { return Fail(Code::kInvalidArgument, "HTTP: bad trailer"); };
  if (at_ == At::kTrailer && byte == '\r') {
    at_ = At::kLastEnd;
  } else if (at_ == At::kTrailer) {
    if (!IsTokenByte(byte)) return malformed();
    at_ = At::kTrailerName;
  } else if (at_ == At::kTrailerName) {
    if (byte != ':' && !IsTokenByte(byte)) return malformed();
    if (byte == ':') at_ = At::kTrailerValue;
  } else if (at_ == At::kTrailerValue) {
    if (byte != '\r' && !IsTextByte(byte)) return malformed();
    if (byte == '\r') at_ = At::kTrailerEnd;
  } else {
    if (byte != '\n') return malformed();
    at_ = at_ == At::kLastEnd ? At::kDone : At::kTrailer;
  }
  return {};
}

}  // namespace kvorum::rpc
