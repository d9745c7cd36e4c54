// Named points in the code that a test can make sleep, fail or abort. Names, terms and the HTTP
// control are those of the fault-injection tools for this kind of server
// (docs/operations/failpoints.md).
//
//   KV_FAILPOINT("walBeforeSync");                       // may sleep, print or abort
//   KV_FAILPOINT_RETURN("defragOpenFileError", value) {  // entered when set to return(value)
//     return Fail(Code::kUnknown, value);
//   }
//
//   if (KV_FAILPOINT_ARMED("name")) {  // code that only a set point needs
//     other_executor.Post([] { KV_FAILPOINT("name"); ... });  // on an executor that may sleep
//
// The points stand in every build, so that tests and users run the same objects. What can set them,
// base/failpoint/failpoint_control.h, is a separate library: a program that does not link it has
// nothing that arms a point, and ignores the environment. Releases do not link it.
//
// Thread-safe. A point that is off costs one relaxed load and a branch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

#include "base/error.h"

namespace kvorum::failpoint {

// A point in the code. Created by KV_FAILPOINT only, when the program starts, and never destroyed
// before it ends.
class Point {
 public:
  enum class Kind : bool { kPasses, kReturns };
  Point(const char* name, Kind kind);

  const char* name() const { return name_; }
  // True if the code does something with the text of a return(text).
  bool returns() const { return kind_ == Kind::kReturns; }
  // The point that was created before this one, nullptr at the first.
  Point* before() const { return before_; }

  bool IsArmed() const { return armed_.load(std::memory_order_relaxed); }
  // By the control alone.
  void Arm(bool armed) { armed_.store(armed, std::memory_order_relaxed); }
  // Sleeps, prints or aborts as the control's term says. Returns the text if the action is
  // return(text).
  std::optional<std::string> Evaluate() const {
    if (!IsArmed()) [[likely]]
      return std::nullopt;
    return EvaluateArmed();
  }

 private:
  std::optional<std::string> EvaluateArmed() const;

  const char* const name_;
  const Kind kind_;
  Point* const before_;
  std::atomic<bool> armed_ = false;
};

template <std::size_t kSize>
struct Name {
  char text[kSize];
  consteval Name(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
};
template <Name kName>
inline Point kPoint{kName.text, Point::Kind::kPasses};
// A name is of one kind: the control has one point of each name.
template <Name kName>
inline Point kReturningPoint{kName.text, Point::Kind::kReturns};

// Sets points and acts at those that are set: base/failpoint/failpoint_control.cc, where it is
// linked.
class Control {
 public:
  virtual ~Control() = default;
  virtual std::optional<std::string> Act(const Point& point) = 0;
  virtual Result<void> StartFromEnvironment() = 0;
};

// Before main() only, by the control's own library.
void Install(Control& control);

// True if the control is linked, so that any point may sleep.
bool IsControlled();

// Called once, early in main(): without the control it does nothing.
Result<void> StartFromEnvironment();

// The point that was created last, from which the others are reached; nullptr if there is none.
Point* LastPoint();

}  // namespace kvorum::failpoint

#define KV_FAILPOINT(name) static_cast<void>(::kvorum::failpoint::kPoint<name>.Evaluate())
#define KV_FAILPOINT_ARMED(name) ::kvorum::failpoint::kPoint<name>.IsArmed()
#define KV_FAILPOINT_RETURN(name, value)                         \
  if (const std::optional<std::string> kv_failpoint =            \
          ::kvorum::failpoint::kReturningPoint<name>.Evaluate(); \
      kv_failpoint.has_value())                                  \
    if (const std::string& value = *kv_failpoint; true) /* NOLINT(bugprone-macro-parentheses) */
