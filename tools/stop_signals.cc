#include "tools/stop_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace kvorum::ctl {
namespace {

sigset_t BothSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

StopSignals::StopSignals() : wake_fd_(eventfd(0, EFD_CLOEXEC)) {
  const sigset_t set = BothSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { Wait(); });
}

StopSignals::~StopSignals() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
  thread_.join();
  close(wake_fd_);
}

void StopSignals::Wait() {
  const sigset_t set = BothSignals();
  const int signals = signalfd(-1, &set, SFD_CLOEXEC);
  while (true) {
    std::array<pollfd, 2> ready{{{.fd = signals, .events = POLLIN, .revents = 0},
                                 {.fd = wake_fd_, .events = POLLIN, .revents = 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[1].revents != 0) break;
    signalfd_siginfo signal{};
    if (read(signals, &signal, sizeof signal) != sizeof signal) continue;
    if (!stop_.request_stop()) {
      pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
      raise(static_cast<int>(signal.ssi_signo));
    }
  }
  close(signals);
}

}  // namespace kvorum::ctl
