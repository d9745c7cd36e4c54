// An error of the API as its tables hold it: clients match on code and text.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum {

struct ApiError {
  Code code;
  std::string_view message;

  Error ToError() const { return {code, std::string(message)}; }
  std::unexpected<Error> Fail() const { return std::unexpected(ToError()); }
  friend bool operator==(const Error& error, const ApiError& api) {
    return error.code == api.code && error.message == api.message;
  }
};

}  // namespace kvorum
