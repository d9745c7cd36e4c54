// A request's range of all keys that begin so; every key, if nothing is given.
#pragma once

#include <string>

#include "base/key_range.h"

namespace kvorum::ctl {

// The API has no empty key: one zero byte comes before all others.
inline std::string FirstKey(const std::string& prefix) {
  return prefix.empty() ? std::string(1, '\0') : prefix;
}

template <class Request>
void SetPrefix(Request& request, const std::string& prefix) {
  request.set_key(FirstKey(prefix));
  request.set_range_end(PrefixEnd(prefix));
}

}  // namespace kvorum::ctl
