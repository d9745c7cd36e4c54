#include "tools/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <ostream>
#include <utility>

namespace kvorum::ctl {
namespace {

constexpr std::chrono::milliseconds kInterval(200);
constexpr std::size_t kWidth = 50;

}  // namespace

std::string ProgressLine(const ProgressBar::State& state) {
  const double share = std::clamp(state.share, 0.0, 1.0);
  const auto done = static_cast<std::size_t>(share * static_cast<double>(kWidth));
  std::string bar(done, '=');
  if (done < kWidth) bar += '>';
  return fmt::format("[{:<{}}] {:3.0f}% {}", bar, kWidth, share * 100, state.text);
}

ProgressBar::ProgressBar(World& world, std::function<State()> state)
    : out_(world.err), state_(std::move(state)) {
  if (!world.err_is_terminal) return;
  thread_.emplace([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    do Draw();
    while (!wake.wait_for(lock, stop, kInterval, [&stop] { return stop.stop_requested(); }));
  });
}

ProgressBar::~ProgressBar() {
  if (!thread_) return;
  thread_->request_stop();
  thread_->join();
  Draw();
  out_ << std::endl;
}

// \x1b[K clears what a longer line has left behind.
void ProgressBar::Draw() const { out_ << '\r' << ProgressLine(state_()) << "\x1b[K" << std::flush; }

}  // namespace kvorum::ctl
