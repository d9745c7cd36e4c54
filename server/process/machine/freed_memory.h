// Returns freed memory to the system. Memory of large answers, floods and crowds of connections
// stays in the allocator's heaps between live blocks, and resident, until the allocator releases it
// (malloc_trim). That takes milliseconds: never on a path that somebody waits for.
//
// Checks periodically, on an executor whose tasks may take long, and trims if much was freed since
// the last time: answers fell from a peak, or connections ended while the process is larger than
// after the last trim. What they held may be freed only after them (events that others share,
// requests at work elsewhere), so a while later it trims once more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/task.h"

namespace kvorum::server {

class FreedMemory {
 public:
  struct Parts {
    std::function<std::size_t()> take_peak_bytes;       // of answers, since the last call
    std::function<std::size_t()> used_bytes;            // of answers at present
    std::function<std::uint64_t()> closed_connections;  // since the start
    std::function<std::size_t()> resident_bytes;        // anonymous memory of the process
    std::function<void()> trim;
  };
  static constexpr Duration kInterval = std::chrono::seconds(2);
  // The amount worth a trim.
  static constexpr std::size_t kMuchBytes = std::size_t{32} << 20;
  // From a trim to the second one.
  static constexpr int kLooksToNext = 3;

  FreedMemory(Executor& executor, Parts parts) : executor_(executor), parts_(std::move(parts)) {}
  // Runs until its executor has stopped.
  void Start();

  // Checks once; returns true if memory was trimmed.
  bool Look();

 private:
  void LookLater();

  Executor& executor_;
  const Parts parts_;
  std::size_t peak_bytes_ = 0;  // of answers, since the last trim
  std::uint64_t closed_connections_ = 0;
  int looks_to_next_ = 0;       // until the second trim; 0: there is none to come
  std::size_t left_bytes_ = 0;  // resident after the last trim
};

// The functions that production passes for the two hooks.
std::size_t ResidentAnonymousBytes();
void TrimHeaps();

// Call it before any thread is started. Each thread has a heap. A trim releases the end of the
// first heap alone; the end of another one goes when its thread frees much, and until then it may
// keep twice the largest block that was ever freed, up to 64 MiB. This bounds each to some MiB.
void BoundHeapEnds();

}  // namespace kvorum::server
