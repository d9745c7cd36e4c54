// Blocking connects of the load generator's connections.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::bench {

// The error for errno after a failed call.
Error SystemError(std::string_view what);

// A connected TCP socket to "host:port", without Nagle's delay.
Result<int> ConnectSocket(const std::string& endpoint);

}  // namespace kvorum::bench
