// The time of day as HTTP's Date header spells it.
#pragma once

#include <string>

namespace kvorum::rpc {

// "Sun, 22 Nov 2026 07:44:00 GMT"
std::string HttpDate();

}  // namespace kvorum::rpc
