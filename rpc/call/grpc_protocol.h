// The words and numbers of gRPC over HTTP/2: header values, and every error text of the transport
// itself, word for word as in grpc-go's server, since clients match on these. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace kvorum::rpc {

// The prefix of each message: one byte of flags (1: compressed), four of length, big-endian.
inline constexpr std::size_t kMessagePrefixBytes = 5;
using MessagePrefix = std::array<char, kMessagePrefixBytes>;

// That of a message that is not compressed.
constexpr MessagePrefix PrefixOf(std::size_t size_bytes) {
  return {0, static_cast<char>(size_bytes >> 24), static_cast<char>(size_bytes >> 16),
          static_cast<char>(size_bytes >> 8), static_cast<char>(size_bytes)};
}
inline std::string_view View(const MessagePrefix& prefix) { return {prefix.data(), prefix.size()}; }
// The length in a prefix.
constexpr std::uint32_t SizeIn(std::string_view prefix) {
  std::uint32_t size_bytes = 0;
  for (const char byte : prefix.substr(1, kMessagePrefixBytes - 1))
    size_bytes = size_bytes << 8 | static_cast<unsigned char>(byte);
  return size_bytes;
}

// The subtype ("proto", or empty) of "application/grpc", "application/grpc+proto",
// "application/grpc;..."; nothing if it is not a gRPC content type.
std::optional<std::string_view> ContentSubtype(std::string_view content_type);

// The value of grpc-timeout: up to eight digits and a unit of H, M, S, m, u, n.
Result<Duration> ParseTimeout(std::string_view value);

// The value of a "-bin" header, padded or not.
Result<std::string> DecodeBinaryMetadata(std::string_view name, std::string_view value);

// The value of grpc-message: all but printable ASCII and '%' itself is percent-encoded; bytes that
// are not UTF-8 become U+FFFD.
std::string PercentEncode(std::string_view message);

// True if HTTP/2 allows the header field name (a lower-case token), or the field value.
bool IsValidHeaderName(std::string_view name);
bool IsValidHeaderValue(std::string_view value);

// Unpacks one gzip stream of at most max_bytes; more is an error.
Result<std::string> Gunzip(std::string_view packed, std::size_t max_bytes);

Error CanceledError();
Error DeadlineError();
Error ShuttingDownError();
Error NoAnswerError();
Error MalformedMethodError(std::string_view path);
Error UnknownServiceError(std::string_view service);
Error UnknownMethodError(std::string_view method, std::string_view service);
Error WrongHttpMethodError(std::string_view method);
Error ContentTypeError(std::string_view content_type);
Error HostCountError(std::size_t authorities, std::size_t hosts);
Error MissingDecompressorError(std::string_view encoding);
Error CompressedFlagError();
Error PayloadFormatError(unsigned format);
Error MessageSizeError(std::size_t size_bytes, std::size_t max_bytes);
// For a message of a stream; a unary method's answer has AnswerSizeError (base/answer_memory.h).
Error MessageToSendSizeError(std::size_t size_bytes, std::size_t max_bytes);
Error UnpackedSizeError(std::size_t max_bytes);
Error UnexpectedEndError();
// The error of a malformed request (kErrMalformedRequest and the like) as it is worded on a stream,
// which differs.
Error OnStream(Error unreadable);
Error NoRequestError();
Error ManyRequestsError();
Error BufferedRequestsError();
Error UnsentAnswersError();

}  // namespace kvorum::rpc
