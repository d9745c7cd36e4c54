#include "server/process/machine/freed_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace kvorum::server {

void FreedMemory::Start() {
  left_bytes_ = parts_.resident_bytes();
  LookLater();
}

void FreedMemory::LookLater() {
  executor_.PostAt(executor_.clock().Now() + kInterval, [this] {
    Look();
    LookLater();
  });
}

bool FreedMemory::Look() {
  peak_bytes_ = std::max(peak_bytes_, parts_.take_peak_bytes());
  const bool answers_went = peak_bytes_ >= parts_.used_bytes() + kMuchBytes;
  const std::uint64_t closed = parts_.closed_connections();
  const std::size_t resident = parts_.resident_bytes();
  const bool connections_went =
      closed != closed_connections_ && resident >= left_bytes_ + kMuchBytes;
  const bool again = looks_to_next_ == 1;
  if (looks_to_next_ > 0) --looks_to_next_;
  if (!answers_went && !connections_went && !again) {
    left_bytes_ = std::min(left_bytes_, resident);
    return false;
  }
  looks_to_next_ = again ? 0 : kLooksToNext;
  parts_.trim();
  peak_bytes_ = 0;
  closed_connections_ = closed;
  left_bytes_ = parts_.resident_bytes();
  return true;
}

std::size_t ResidentAnonymousBytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  std::size_t shared = 0;
  if (!(statm >> size >> resident >> shared) || shared > resident) return 0;
  return (resident - shared) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void TrimHeaps() { malloc_trim(0); }

void BoundHeapEnds() {
  constexpr int kMostAtAnEnd = 8 << 20;
  // The largest that may be: blocks that are mapped for themselves are cleared each time. Left
  // alone, this threshold rises with the blocks that are freed, and the other one with it; once one
  // of the two is set, neither moves.
  constexpr int kLargestInAHeap = 32 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestInAHeap);
  mallopt(M_TRIM_THRESHOLD, kMostAtAnEnd);
}

}  // namespace kvorum::server
