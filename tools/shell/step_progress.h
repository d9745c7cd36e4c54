// Passes the progress of long work on files from the thread that does it to a bar on another one.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "datadir/progress.h"
#include "tools/shell/progress_bar.h"

namespace kvorum::ctl {

// Thread-safe. Outlives the work and the bar.
class StepProgress {
 public:
  datadir::OnProgress Callback();
  // The step that is under way, with its rate and the time left.
  ProgressBar::State State() const;

 private:
  using Clock = std::chrono::steady_clock;

  void Tell(std::string_view step, std::uint64_t done_bytes, std::uint64_t total_bytes);

  mutable std::mutex mutex_;
  std::string_view step_;
  Clock::time_point begin_;  // of the step
  std::uint64_t done_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace kvorum::ctl
