// The fill of the queue of log lines, for the metrics. Thread-safe.
#pragma once

#include <cstddef>

namespace kvorum {

struct LogQueue {
  // Room for a burst of a busy server. spdlog's queue takes 408 bytes a line from the start, used
  // or not.
  static constexpr std::size_t kMaxLines = 2'048;
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;
  std::size_t lines = 0;
  std::size_t bytes = 0;
};
LogQueue WaitingLogLines();

}  // namespace kvorum
