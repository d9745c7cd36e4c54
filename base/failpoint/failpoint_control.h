// The control of the failpoints (base/failpoint/failpoint.h), by calls of a test in the same
// process, by the environment or over HTTP. The library kvorum_failpoint_control, which no release
// links: tests and the program kvorum-failpoints do.
//
// All points of the program are known before they are first reached, and no other names. A term is
// a chain `a->b`: the first part whose modifiers allow it acts. Modifiers: `25.0%`, `3*`. Actions:
// off, return, return(v), sleep(ms), sleep("1s"), panic, print.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace kvorum::failpoint {

// kNotFound for an unknown name, kInvalidArgument for a bad term, and for one with `return` at a
// point that has nothing to return.
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

}  // namespace kvorum::failpoint
