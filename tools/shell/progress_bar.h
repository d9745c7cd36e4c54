// A line on the terminal that shows how far a command is, redrawn by its own thread.
//
// Nothing is drawn where the error stream is not a terminal. No other code may write to that stream
// while the bar exists.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "tools/shell/command.h"

namespace kvorum::ctl {

class ProgressBar {
 public:
  struct State {
    double share = 0;  // of the whole: 0 to 1
    std::string text;  // what stands behind the bar
  };
  // `state` is called on the bar's thread, for the first time after `delay`: what is done by then
  // draws nothing.
  ProgressBar(World& world, std::function<State()> state, std::chrono::milliseconds delay = {});
  // Leaves the finished line behind.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  void Draw();

  std::ostream& out_;
  const std::function<State()> state_;
  std::atomic<bool> drawn_ = false;
  std::optional<std::jthread> thread_;
};

// For work that is short as a rule.
inline constexpr std::chrono::milliseconds kBarDelay(1000);

// The state of work of which `done` of `whole` bytes are through, with its rate and the time left.
ProgressBar::State ByteProgress(std::uint64_t done, std::uint64_t whole, double seconds);

// "[=====>    ]  50% of 10 keys": one line without its end.
std::string ProgressLine(const ProgressBar::State& state);

}  // namespace kvorum::ctl
