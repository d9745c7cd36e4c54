// Named points in the code that a test can make fail, in builds with KVORUM_FAILPOINTS only; a
// release contains none of them. Names, terms and the HTTP control are those of the fault-injection
// tools for this kind of server (docs/operations/failpoints.md).
//
//   KV_FAILPOINT("walBeforeSync");                       // may sleep, print or abort
//   KV_FAILPOINT_RETURN("defragOpenFileError", value) {  // entered when set to return(value)
//     return Fail(Code::kUnknown, value);
//   }
//
//   if (KV_FAILPOINT_ARMED("name")) {  // code that only a set point needs
//     other_executor.Post([] { KV_FAILPOINT("name"); ... });  // on an executor that may sleep
//
// Every point registers its name when the program starts, so that it can be set before it is first
// reached. The names that the tools expect are known even if the code has no such point.
// A term is a chain `a->b`: the first part whose modifiers allow it acts. Modifiers: `25.0%`, `3*`.
// Actions: off, return, return(v), sleep(ms), sleep("1s"), panic, print.
//
// Thread-safe. A point that is off costs one relaxed load.
#pragma once

#include "base/error.h"

#ifdef KVORUM_FAILPOINTS

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvorum::failpoint {

struct State;  // a name's term and the number of times it acted

// A point in the code. Created by KV_FAILPOINT only.
class Point {
 public:
  explicit Point(const char* name);
  // Sleeps, prints or aborts as the term says. Returns the text if the action is return(text).
  std::optional<std::string> Evaluate() const {
    if (!armed_.load(std::memory_order_relaxed)) [[likely]]
      return std::nullopt;
    return EvaluateArmed();
  }
  bool IsArmed() const { return armed_.load(std::memory_order_relaxed); }

 private:
  std::optional<std::string> EvaluateArmed() const;

  State& state_;
  const std::atomic<bool>& armed_;
};

template <std::size_t kSize>
struct Name {
  char text[kSize];
  consteval Name(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
};
template <Name kName>
inline const Point kPoint{kName.text};

// Control by tests in the same process; the HTTP control does the same. kNotFound for an unknown
// name, kInvalidArgument for a bad term.
Result<void> Set(std::string_view name, std::string_view term);
// "a=term;b=term": sets all of them or, if one is wrong, none.
Result<void> SetAll(std::string_view assignments);
Result<void> Clear(std::string_view name);
void ClearAll();
// The number of times the point has acted since it was last set; `off` does not count.
Result<std::uint64_t> Count(std::string_view name);
// The term of a name as it was set, "" when off.
Result<std::string> Get(std::string_view name);
// All known names with their terms, sorted by name.
std::vector<std::pair<std::string, std::string>> List();

// While one exists, a `panic` waits (at most a second) before it aborts, so that the answer to the
// request that set it goes out first.
class AnswerPending {
 public:
  AnswerPending();
  ~AnswerPending();
  AnswerPending(const AnswerPending&) = delete;
  AnswerPending& operator=(const AnswerPending&) = delete;
};

// The HTTP control, on a separate thread that serves one request at a time and never evaluates a
// point, so it answers while points sleep. GET / , GET|PUT|DELETE /name, GET /name/count, PUT
// /failpoints. The destructor stops it.
class ControlServer {
 public:
  // "127.0.0.1:22381" or "localhost:0".
  static Result<std::unique_ptr<ControlServer>> Start(const std::string& address);
  virtual ~ControlServer() = default;
  virtual std::uint16_t port() const = 0;
};

// Sets the points of GOFAIL_FAILPOINTS and serves the control at GOFAIL_HTTP, if they are set.
// Called once, early in main.
Result<void> StartFromEnvironment();

}  // namespace kvorum::failpoint

#define KV_FAILPOINT(name) static_cast<void>(::kvorum::failpoint::kPoint<name>.Evaluate())
#define KV_FAILPOINT_ARMED(name) ::kvorum::failpoint::kPoint<name>.IsArmed()
#define KV_FAILPOINT_RETURN(name, value)                \
  if (const std::optional<std::string> kv_failpoint =   \
          ::kvorum::failpoint::kPoint<name>.Evaluate(); \
      kv_failpoint.has_value())                         \
    if (const std::string& value = *kv_failpoint; true) /* NOLINT(bugprone-macro-parentheses) */

#else

#include <string>

namespace kvorum::failpoint {

// Without failpoints the environment is ignored.
inline Result<void> StartFromEnvironment() { return {}; }

}  // namespace kvorum::failpoint

#define KV_FAILPOINT(name) static_cast<void>(0)
#define KV_FAILPOINT_ARMED(name) false
#define KV_FAILPOINT_RETURN(name, value) \
  if constexpr (false)                   \
    if (const std::string value; true)

#endif
