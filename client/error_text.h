// Texts of errors, as the tools print them.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::client {

// True if the text is one of the v3 API's own errors, which is complete by itself.
bool IsApiError(std::string_view message);

// The error as the tools print it: an API error by its text alone, a passed deadline as "context
// deadline exceeded", this library's own errors (of locks, elections, a stop) verbatim, anything
// else as "rpc error: code = NAME desc = TEXT".
std::string ErrorText(const Error& error);

}  // namespace kvorum::client
