// Named points in the code that a test can make fail, in builds with KVORUM_FAILPOINTS only; a
// release has none of it. Names, terms and the HTTP control are those of the fault-injection tools
// for this kind of server (docs/operations/failpoints.md).
//
//   KV_FAILPOINT("walBeforeSync");                       // may sleep, print or abort
//   KV_FAILPOINT_RETURN("defragOpenFileError", value) {  // entered when set to return(value)
//     return Fail(Code::kUnknown, value);
//   }
#pragma once

#include <optional>
#include <string>

#ifdef KVORUM_FAILPOINTS

namespace kvorum::failpoint {

// Evaluates the point: sleeps, prints or aborts as its term says; the text of return(text) if that
// is its action. Thread-safe.
std::optional<std::string> Evaluate(const char* name);

}  // namespace kvorum::failpoint

#define KV_FAILPOINT(name) static_cast<void>(::kvorum::failpoint::Evaluate(name))
#define KV_FAILPOINT_RETURN(name, value)                                             \
  if (std::optional<std::string> kv_failpoint = ::kvorum::failpoint::Evaluate(name)) \
    if (const std::string& value = *kv_failpoint; true)

#else

#define KV_FAILPOINT(name) static_cast<void>(0)
#define KV_FAILPOINT_RETURN(name, value) \
  if constexpr (false)                   \
    if (const std::string value; true)

#endif
