#include "tools/shell/step_progress.h"

#include <string>

namespace kvorum::ctl {

datadir::OnProgress StepProgress::Callback() {
  return [this](std::string_view step, std::uint64_t done_bytes, std::uint64_t total_bytes) {
    Tell(step, done_bytes, total_bytes);
  };
}

void StepProgress::Tell(std::string_view step, std::uint64_t done_bytes,
                        std::uint64_t total_bytes) {
  const std::lock_guard lock(mutex_);
  // A second pass of one name is a separate step.
  if (step != step_ || done_bytes < done_bytes_) begin_ = Clock::now();
  step_ = step;
  done_bytes_ = done_bytes;
  total_bytes_ = total_bytes;
}

ProgressBar::State StepProgress::State() const {
  const std::lock_guard lock(mutex_);
  std::string step(step_);
  if (total_bytes_ == 0) return {.share = 0, .text = std::move(step)};
  const std::chrono::duration<double> took = Clock::now() - begin_;
  ProgressBar::State state = ByteProgress(done_bytes_, total_bytes_, took.count());
  state.text = step + " " + state.text;
  return state;
}

}  // namespace kvorum::ctl
