// The outcome of a kvorumctl command. Scripts tell failures apart by these exit codes, and find the
// text on the standard error stream after "Error: ".
#pragma once

#include <expected>
#include <string>
#include <utility>

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

  friend bool operator==(const Failure&, const Failure&) = default;
};

template <class T = void>
using Outcome = std::expected<T, Failure>;

inline std::unexpected<Failure> Fail(ExitCode code, std::string message) {
  return std::unexpected(Failure{code, std::move(message)});
}

}  // namespace kvorum::ctl
