// KV_CHECK: an invariant of our own that must hold, in release too. A replica that is wrong must
// not go on.
//
// Never for what a client, a peer or a disk sends: that is an Error.
#pragma once

#include <string_view>

namespace kvorum {

// Logs what is broken, flushes the log and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view what);

}  // namespace kvorum

#define KV_CHECK(condition, what)                                    \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::kvorum::CheckFailed(__FILE__, __LINE__, #condition, (what)); \
  } while (false)
