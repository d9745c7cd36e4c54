// The outcome of a kvorumctl command. Scripts tell failures apart by these exit codes, and find the
// text on the standard error stream after "Error: ".
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "base/error.h"

namespace kvorum::ctl {

enum class ExitCode : int {
  kOk = 0,
  kError = 1,  // an error of the server or the connection
  kBadConnection = 2,
  kInvalidInput = 3,  // a txn that can't be read
  kBadFeature = 4,    // a valid flag with an unknown value
  kInterrupted = 5,   // the server ended what should have gone on
  kBadArguments = 128,
};

struct Failure {
  ExitCode code = ExitCode::kError;
  std::string message;  // empty: everything was printed already, only the code is left

  Failure() = default;
  Failure(ExitCode exit_code, std::string text) : code(exit_code), message(std::move(text)) {}
  // An error of the client, in the client's words; implicit, for KV_TRY.
  Failure(const Error& error);
  friend bool operator==(const Failure&, const Failure&) = default;
};

template <class T = void>
using Outcome = std::expected<T, Failure>;

inline std::unexpected<Failure> Fail(ExitCode code, std::string message) {
  return std::unexpected(Failure(code, std::move(message)));
}
inline std::unexpected<Failure> BadArguments(std::string message) {
  return Fail(ExitCode::kBadArguments, std::move(message));
}
// An error of this machine's, which no server said: the text alone, without its code.
inline std::unexpected<Failure> FailLocally(const Error& error) {
  return Fail(ExitCode::kError, error.message);
}

}  // namespace kvorum::ctl
