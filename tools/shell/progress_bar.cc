#include "tools/shell/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <ostream>
#include <utility>

#include "base/text/human_bytes.h"

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

ProgressBar::ProgressBar(World& world, std::function<State()> state,
                         std::chrono::milliseconds delay)
    : out_(world.err), state_(std::move(state)) {
  if (!world.err_is_terminal) return;
  thread_.emplace([this, delay](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    if (wake.wait_for(lock, stop, delay, [&stop] { return stop.stop_requested(); })) return;
    do Draw();
    while (!wake.wait_for(lock, stop, kInterval, [&stop] { return stop.stop_requested(); }));
  });
}

ProgressBar::~ProgressBar() {
  if (!thread_) return;
  thread_->request_stop();
  thread_->join();
  if (!drawn_) return;
  Draw();
  out_ << std::endl;
}

// \x1b[K clears what a longer line has left behind.
void ProgressBar::Draw() {
  out_ << '\r' << ProgressLine(state_()) << "\x1b[K" << std::flush;
  drawn_ = true;
}

ProgressBar::State ByteProgress(std::uint64_t done, std::uint64_t whole, double seconds) {
  done = std::min(done, whole);
  std::string text = fmt::format("{} of {}", HumanBytes(done), HumanBytes(whole));
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    text += fmt::format(", {}/s", HumanBytes(static_cast<std::uint64_t>(rate)));
    if (done < whole)
      text += fmt::format(", {:.0f} s left", static_cast<double>(whole - done) / rate);
  }
  return {.share = whole == 0 ? 0 : static_cast<double>(done) / static_cast<double>(whole),
          .text = std::move(text)};
}

}  // namespace kvorum::ctl
