#include "tools/shell/signal_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace kvorum::ctl {
namespace {

sigset_t SetOf(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalWatch::SignalWatch(std::initializer_list<int> signals)
    : signals_(signals), wake_fd_(eventfd(0, EFD_CLOEXEC)) {
  const sigset_t set = SetOf(signals_);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalWatch::~SignalWatch() {
  Stop();
  close(wake_fd_);
}

void SignalWatch::Stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
  thread_.join();
}

void SignalWatch::Listen(std::function<void(int signal)> on_signal) {
  thread_ = std::thread([this, on_signal = std::move(on_signal)] { Wait(on_signal); });
}

void SignalWatch::Unblock() const {
  const sigset_t set = SetOf(signals_);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void SignalWatch::Wait(const std::function<void(int signal)>& on_signal) const {
  const sigset_t set = SetOf(signals_);
  const int signals = signalfd(-1, &set, SFD_CLOEXEC);
  while (true) {
    std::array<pollfd, 2> ready{{{.fd = signals, .events = POLLIN, .revents = 0},
                                 {.fd = wake_fd_, .events = POLLIN, .revents = 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[1].revents != 0) break;
    signalfd_siginfo signal{};
    if (read(signals, &signal, sizeof signal) == sizeof signal)
      on_signal(static_cast<int>(signal.ssi_signo));
  }
  close(signals);
}

}  // namespace kvorum::ctl
