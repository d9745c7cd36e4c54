// KV_CHECK: an invariant of our own that must hold, in release builds too. A replica in a broken
// state must not go on.
//
// Never use it for input from a client, a peer or a disk: bad input is an Error.
#pragma once

#include <string_view>

namespace kvorum {

// Reports the broken invariant and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view what);

// A report of a broken invariant returns when its words are out. The log sets its own (logging.cc);
// without a log they go to stderr.
using CheckReport = void (*)(const char* file, int line, const char* condition,
                             std::string_view what);
void SetCheckReport(CheckReport report);

}  // namespace kvorum

#define KV_CHECK(condition, what)                                    \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::kvorum::CheckFailed(__FILE__, __LINE__, #condition, (what)); \
  } while (false)
