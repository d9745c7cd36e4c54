#include "rpc/call/grpc_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/api_errors.h"
#include "base/base64.h"
#include "base/text/go_quote.h"
#include "base/text/gzip.h"
#include "base/text/percent.h"
#include "base/utf8.h"

namespace kvorum::rpc {
namespace {

constexpr std::string_view kBaseContentType = "application/grpc";
constexpr std::string_view kUnreadableRequest = "grpc: error unmarshalling request: ";
constexpr std::string_view kUnreadableOnStream = "grpc: failed to unmarshal the received message: ";
constexpr std::size_t kMaxTimeoutBytes = 9;

std::optional<std::int64_t> UnitNanos(char unit) {
  switch (unit) {
    case 'H':
      return 3'600'000'000'000;
    case 'M':
      return 60'000'000'000;
    case 'S':
      return 1'000'000'000;
    case 'm':
      return 1'000'000;
    case 'u':
      return 1'000;
    case 'n':
      return 1;
    default:  // a byte from outside, not an enum
      return std::nullopt;
  }
}

constexpr std::uint64_t EightTimes(std::uint8_t byte) {
  return byte * std::uint64_t{0x0101010101010101};
}

// The high bit of each of the eight bytes that may not be in a header value: control characters
// except the tab.
std::uint64_t FindControls(std::uint64_t bytes) {
  constexpr std::uint64_t kHigh = EightTimes(0x80);
  const std::uint64_t low = bytes & ~kHigh;  // sums of two such do not reach the next byte
  const std::uint64_t is_text = low + EightTimes(0x80 - 0x20);
  const std::uint64_t is_no_tab = (low ^ EightTimes('\t')) + EightTimes(0x7f);
  const std::uint64_t is_no_delete = (low ^ EightTimes(0x7f)) + EightTimes(0x7f);
  return ((~is_text & is_no_tab) | ~is_no_delete) & ~bytes & kHigh;
}

constexpr std::array<bool, 256> MakeHeaderNameTable() {
  std::array<bool, 256> table{};
  for (char c = 'a'; c <= 'z'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c = '0'; c <= '9'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr std::array<bool, 256> kHeaderNameByte = MakeHeaderNameTable();

}  // namespace

std::optional<std::string_view> ContentSubtype(std::string_view content_type) {
  if (!content_type.starts_with(kBaseContentType)) return std::nullopt;
  content_type.remove_prefix(kBaseContentType.size());
  if (content_type.empty()) return content_type;
  if (content_type.front() != '+' && content_type.front() != ';') return std::nullopt;
  return content_type.substr(1);
}

Result<Duration> ParseTimeout(std::string_view value) {
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kInternal, fmt::format("malformed grpc-timeout: {}", why));
  };
  if (value.size() < 2)
    return refuse(fmt::format("transport: timeout string is too short: {}", GoQuote(value)));
  if (value.size() > kMaxTimeoutBytes)
    return refuse(fmt::format("transport: timeout string is too long: {}", GoQuote(value)));
  const auto unit = UnitNanos(value.back());
  if (!unit)
    return refuse(fmt::format("transport: timeout unit is not recognized: {}", GoQuote(value)));
  std::int64_t amount = 0;
  for (const char c : value.substr(0, value.size() - 1)) {
    if (c < '0' || c > '9') {
      return refuse(fmt::format("strconv.ParseUint: parsing {}: invalid syntax",
                                GoQuote(value.substr(0, value.size() - 1))));
    }
    amount = amount * 10 + (c - '0');
  }
  // A time-out longer than the clock can count is as good as none; the margin keeps now + timeout
  // in range.
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max() / 4;
  if (amount > kLongest / *unit) return Duration(kLongest);
  return Duration(amount * *unit);
}

Result<std::string> DecodeBinaryMetadata(std::string_view name, std::string_view value) {
  auto decoded = DecodeBase64(Base64::kUnpadded, value);
  if (decoded) return *std::move(decoded);
  return Fail(Code::kInternal,
              fmt::format("malformed binary metadata {} in header {}: illegal base64 data at "
                          "input byte {}",
                          GoQuote(value), GoQuote(name), decoded.error().offset));
}

std::string PercentEncode(std::string_view message) {
  std::string encoded;
  encoded.reserve(message.size());
  const auto escape = [&](std::string_view bytes) {
    for (const char c : bytes) AppendPercentEscape(encoded, c);
  };
  for (std::size_t i = 0; i < message.size();) {
    const char c = message[i];
    if (static_cast<unsigned char>(c) < 0x80) {
      if (c >= ' ' && c <= '~' && c != '%') {
        encoded.push_back(c);
      } else {
        escape(message.substr(i, 1));
      }
      ++i;
      continue;
    }
    const std::size_t length = Utf8SequenceLength(message.substr(i));
    escape(length == 0 ? "\xef\xbf\xbd" : message.substr(i, length));
    i += length == 0 ? 1 : length;
  }
  return encoded;
}

bool IsValidHeaderName(std::string_view name) {
  if (name.empty()) return false;
  for (const char c : name) {
    if (!kHeaderNameByte[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

bool IsValidHeaderValue(std::string_view value) {
  std::uint64_t controls = 0;
  std::uint64_t word = EightTimes(' ');
  if (value.size() < sizeof(word)) {
    for (const char c : value) word = word << 8 | static_cast<unsigned char>(c);
    return FindControls(word) == 0;
  }
  // Some of the last eight bytes may be checked twice.
  const std::size_t last = value.size() - sizeof(word);
  for (std::size_t at = 0; at < last; at += sizeof(word)) {
    std::memcpy(&word, value.data() + at, sizeof(word));
    controls |= FindControls(word);
  }
  std::memcpy(&word, value.data() + last, sizeof(word));
  return (controls | FindControls(word)) == 0;
}

Result<std::string> Gunzip(std::string_view packed, std::size_t max_bytes) {
  constexpr std::size_t kFirstBytes = 4096;
  GzipReader reader;
  std::string unpacked;
  std::optional<std::size_t> more_bytes = 1;
  while (more_bytes.value_or(0) != 0 && !reader.ended() && unpacked.size() <= max_bytes) {
    const std::size_t had = unpacked.size();
    unpacked.resize(std::min(std::max(kFirstBytes, had * 2), max_bytes + 1));
    more_bytes = reader.Read(packed, std::span(unpacked).subspan(had));
    unpacked.resize(had + more_bytes.value_or(0));
  }
  if (unpacked.size() > max_bytes) return Fail(UnpackedSizeError(max_bytes));
  if (reader.ended()) return unpacked;
  if (more_bytes)
    return Fail(Code::kInternal, "grpc: failed to read decompressed data: unexpected EOF");
  return Fail(Code::kInternal, "grpc: failed to decompress the message: gzip: invalid header");
}

Error CanceledError() { return kErrCanceled.ToError(); }
Error DeadlineError() { return kErrDeadlineExceeded.ToError(); }
Error ShuttingDownError() { return kErrStopped.ToError(); }
Error NoAnswerError() { return {Code::kInternal, "the handler ended without an answer"}; }

Error MalformedMethodError(std::string_view path) {
  return {Code::kUnimplemented, fmt::format("malformed method name: {}", GoQuote(path))};
}
Error UnknownServiceError(std::string_view service) {
  return {Code::kUnimplemented, fmt::format("unknown service {}", service)};
}
Error UnknownMethodError(std::string_view method, std::string_view service) {
  return {Code::kUnimplemented, fmt::format("unknown method {} for service {}", method, service)};
}
Error WrongHttpMethodError(std::string_view method) {
  return {Code::kInternal,
          fmt::format("Received a HEADERS frame with :method {} which should be POST",
                      GoQuote(method))};
}
Error ContentTypeError(std::string_view content_type) {
  return {Code::kInvalidArgument,
          fmt::format("invalid gRPC request content-type {}", GoQuote(content_type))};
}
Error HostCountError(std::size_t authorities, std::size_t hosts) {
  return {Code::kInternal,
          fmt::format("num values of :authority: {}, num values of host: {}, both must only have "
                      "1 value as per HTTP/2 spec",
                      authorities, hosts)};
}
Error MissingDecompressorError(std::string_view encoding) {
  return {
      Code::kUnimplemented,
      fmt::format("grpc: Decompressor is not installed for grpc-encoding {}", GoQuote(encoding))};
}
Error CompressedFlagError() {
  return {Code::kInternal, "grpc: compressed flag set with identity or empty encoding"};
}
Error PayloadFormatError(unsigned format) {
  return {Code::kInternal, fmt::format("grpc: received unexpected payload format {}", format)};
}
Error MessageSizeError(std::size_t size_bytes, std::size_t max_bytes) {
  return {Code::kResourceExhausted,
          fmt::format("grpc: received message larger than max ({} vs. {})", size_bytes, max_bytes)};
}

Error MessageToSendSizeError(std::size_t size_bytes, std::size_t max_bytes) {
  return {Code::kResourceExhausted,
          fmt::format("trying to send message larger than max ({} vs. {})", size_bytes, max_bytes)};
}

Error UnpackedSizeError(std::size_t max_bytes) {
  return {Code::kResourceExhausted,
          fmt::format("grpc: received message after decompression larger than max {}", max_bytes)};
}
Error OnStream(Error unreadable) {
  if (unreadable.message.starts_with(kUnreadableRequest))
    unreadable.message.replace(0, kUnreadableRequest.size(), kUnreadableOnStream);
  return unreadable;
}
Error UnexpectedEndError() { return {Code::kInternal, "unexpected EOF"}; }
Error NoRequestError() {
  return {Code::kInternal,
          "cardinality violation: received no request message from non-client-streaming RPC"};
}
Error ManyRequestsError() {
  return {Code::kInternal,
          "cardinality violation: received multiple request messages for non-client-streaming RPC"};
}
Error UnsentAnswersError() {
  return {Code::kResourceExhausted, "too many answer bytes wait on this connection"};
}

Error BufferedRequestsError() {
  return {Code::kResourceExhausted, "too many request bytes wait on this connection"};
}

}  // namespace kvorum::rpc
