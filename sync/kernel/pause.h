// A counted pause: work that comes due while somebody holds it is remembered, and is due once when
// the last holder lets go.
//
// Thread-safe. `on_resume` runs on the thread of the last release, outside the lock.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

namespace kvorum::sync {

// The kinds of work that a pause holds back; a full pass does what one over the changes would.
enum class Pass : std::uint8_t { kNone, kChanges, kFull };

class Pause {
 public:
  // Receives the greatest of the passes that were held back.
  using OnResume = std::function<void(Pass due)>;
  explicit Pause(OnResume on_resume);
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

  void Acquire();
  // True if this was the last one. Throws std::logic_error if the pause is not held.
  bool Release();
  bool is_paused() const;
  // True if the pass may run now; otherwise it is remembered.
  bool Admit(Pass pass);

 private:
  const OnResume on_resume_;
  mutable std::mutex mutex_;
  std::uint64_t holders_ = 0;
  Pass held_back_ = Pass::kNone;
};

// Holds a pause for its scope. The pause outlives it.
class PauseGuard {
 public:
  explicit PauseGuard(Pause& pause) : pause_(pause) { pause_.Acquire(); }
  ~PauseGuard() { pause_.Release(); }
  PauseGuard(const PauseGuard&) = delete;
  PauseGuard& operator=(const PauseGuard&) = delete;

 private:
  Pause& pause_;
};

}  // namespace kvorum::sync
