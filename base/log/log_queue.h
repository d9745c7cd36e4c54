// The fill of the queue of log lines, for the metrics. Thread-safe; takes the log's short lock.
#pragma once

#include <cstddef>

namespace kvorum {

struct LogQueue {
  // Room for a few seconds of a busy server, at a negligible cost in memory.
  static constexpr std::size_t kMaxLines = 16'384;
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;
  std::size_t lines = 0;
  std::size_t bytes = 0;
};
LogQueue WaitingLogLines();

}  // namespace kvorum
