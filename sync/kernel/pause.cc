#include "sync/kernel/pause.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace kvorum::sync {

Pause::Pause(OnResume on_resume) : on_resume_(std::move(on_resume)) {}

void Pause::Acquire() {
  const std::lock_guard lock(mutex_);
  ++holders_;
}

bool Pause::Release() {
  Pass due = Pass::kNone;
  {
    const std::lock_guard lock(mutex_);
    if (holders_ == 0) throw std::logic_error("a pause is released that is not held");
    if (--holders_ != 0) return false;
    due = std::exchange(held_back_, Pass::kNone);
  }
  on_resume_(due);
  return true;
}

bool Pause::is_paused() const {
  const std::lock_guard lock(mutex_);
  return holders_ != 0;
}

bool Pause::Admit(Pass pass) {
  const std::lock_guard lock(mutex_);
  if (holders_ == 0) return true;
  held_back_ = std::max(held_back_, pass);
  return false;
}

}  // namespace kvorum::sync
