// Errors as values. An Error carries the status code and the exact text that a client gets.
//
// Codes are those of the gRPC status (the numbers are on the wire). No exception crosses our code;
// one that a library throws is caught where the library is called.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace kvorum {

enum class Code : std::uint8_t {
  kOk = 0,
  kCanceled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// The code's name in gRPC's texts: "PermissionDenied".
std::string_view CodeName(Code code);

struct Error {
  Code code = Code::kUnknown;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T = void>
using Result = std::expected<T, Error>;

// An error return: `return Fail(Code::kNotFound, "...")`.
inline std::unexpected<Error> Fail(Code code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}
inline std::unexpected<Error> Fail(Error error) { return std::unexpected(std::move(error)); }

// The C library's text for an errno value: "No such file or directory".
std::string ErrnoText(int number);
// The text that Go has for it, which begins with a lower-case letter.
std::string GoErrnoText(int number);

}  // namespace kvorum

#define KV_CONCAT_INNER(a, b) a##b
#define KV_CONCAT(a, b) KV_CONCAT_INNER(a, b)

// KV_RETURN_IF_ERROR(expr): leaves the function with the error of a Result<void>.
#define KV_RETURN_IF_ERROR(expr)                                      \
  do {                                                                \
    if (auto kv_result = (expr); !kv_result.has_value()) [[unlikely]] \
      return std::unexpected(std::move(kv_result).error());           \
  } while (false)

// KV_TRY(auto x, expr): sets x to the value of the Result, or leaves the function with its error.
#define KV_TRY(lhs, expr) KV_TRY_IMPL(KV_CONCAT(kv_try_, __LINE__), lhs, expr)
#define KV_TRY_IMPL(tmp, lhs, expr)                 \
  auto tmp = (expr);                                \
  if (!tmp.has_value()) [[unlikely]]                \
    return std::unexpected(std::move(tmp).error()); \
  lhs = std::move(tmp).value()
