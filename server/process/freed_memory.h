// Gives freed memory back to the system. What large answers, floods and crowds of connections leave
// behind lies in the allocator's heaps in between what lives, where it stays resident until the
// allocator is told to let go of it (malloc_trim), which takes it milliseconds: never on a path
// that somebody waits for.
//
// Looks once in a while, on an executor whose tasks may take long, and trims where much was freed
// since the last time: answers fell from a peak, or connections went while the process is larger
// than it was left the last time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/executor.h"

namespace kvorum::server {

class FreedMemory {
 public:
  struct Parts {
    std::function<std::size_t()> take_peak_bytes;       // of answers, since it was last asked
    std::function<std::size_t()> used_bytes;            // of answers, now
    std::function<std::uint64_t()> closed_connections;  // ever
    std::function<std::size_t()> resident_bytes;        // anonymous memory of the process
    std::function<void()> trim;
  };
  static constexpr Duration kInterval = std::chrono::seconds(2);
  // Worth a trim.
  static constexpr std::size_t kMuchBytes = std::size_t{32} << 20;

  FreedMemory(Executor& executor, Parts parts) : executor_(executor), parts_(std::move(parts)) {}
  // It goes on until its executor has stopped.
  void Start();

  // One look; true if memory was trimmed.
  bool Look();

 private:
  void LookLater();

  Executor& executor_;
  const Parts parts_;
  std::size_t peak_bytes_ = 0;  // of answers, since the last trim
  std::uint64_t closed_connections_ = 0;
  std::size_t left_bytes_ = 0;  // resident after the last trim
};

// The functions that production passes for the two hooks.
std::size_t ResidentAnonymousBytes();
void TrimHeaps();

}  // namespace kvorum::server
