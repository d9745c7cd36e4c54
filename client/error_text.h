// What the server's errors are called.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::client {

// True if the text is one of the v3 API's own errors: its text then says all there is to say.
bool IsApiError(std::string_view message);

// The error as the tools print it: an API error by its text alone, a passed deadline as "context
// deadline exceeded", what this library says itself (of locks, of elections, of a stop) as it is,
// anything else as "rpc error: code = NAME desc = TEXT".
std::string ErrorText(const Error& error);

}  // namespace kvorum::client
