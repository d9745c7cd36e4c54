// The time of day in the form of HTTP's Date header.
#pragma once

#include <string>

namespace kvorum::rpc {

// "Sun, 22 Nov 2026 07:44:00 GMT"
std::string HttpDate();

}  // namespace kvorum::rpc
