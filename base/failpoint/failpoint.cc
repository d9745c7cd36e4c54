#include "base/failpoint/failpoint.h"

#include <utility>

namespace kvorum::failpoint {
namespace {

// Constant-initialized: points and control are created before main(), in any order.
constinit Point* last_point = nullptr;
constinit Control* installed_control = nullptr;

}  // namespace

Point::Point(const char* name, Kind kind)
    : name_(name), kind_(kind), before_(std::exchange(last_point, this)) {}

std::optional<std::string> Point::EvaluateArmed() const {
  return installed_control == nullptr ? std::nullopt : installed_control->Act(*this);
}

void Install(Control& control) { installed_control = &control; }

bool IsControlled() { return installed_control != nullptr; }

Result<void> StartFromEnvironment() {
  return installed_control == nullptr ? Result<void>() : installed_control->StartFromEnvironment();
}

Point* LastPoint() { return last_point; }

}  // namespace kvorum::failpoint
