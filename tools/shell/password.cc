#include "tools/shell/password.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iostream>
#include <optional>

#include "base/error.h"
#include "base/words.h"

namespace kvorum::ctl {
namespace {

constexpr auto kEndings = std::to_array({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
// The signals that stop the process, and the one that continues it: before, the terminal is
// restored; afterwards a shell may have changed it in any way.
constexpr auto kStops = std::to_array({SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT});
constexpr std::size_t kSignals = kEndings.size() + kStops.size();

// The pipe to which a signal's handler writes its number.
int signal_pipe = -1;

void TellSignal(int number) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(number);
  [[maybe_unused]] const ssize_t written = ::write(signal_pipe, &byte, 1);
  errno = saved;
}

// Makes signals readable, whichever thread receives them, until it is destroyed. Signals that the
// process ignores stay ignored.
class SignalPipe {
 public:
  SignalPipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) return;
    signal_pipe = ends_[1];
    struct sigaction action{};
    action.sa_handler = TellSignal;
    sigfillset(&action.sa_mask);
    for (const int number : kEndings) Catch(number, action);
    for (const int number : kStops) Catch(number, action);
  }
  ~SignalPipe() {
    if (!is_open()) return;
    for (std::size_t i = 0; i < caught_; ++i)
      ::sigaction(before_[i].number, &before_[i].action, nullptr);
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  bool is_open() const { return ends_[0] >= 0; }
  int read_end() const { return ends_[0]; }
  // The first signal received; nothing if there was none.
  std::optional<int> Next() const {
    pollfd ready{.fd = read_end(), .events = POLLIN, .revents = 0};
    unsigned char number = 0;
    if (::poll(&ready, 1, 0) != 1 || ::read(read_end(), &number, 1) != 1) return std::nullopt;
    return number;
  }

 private:
  struct Caught {
    int number = 0;
    struct sigaction action{};
  };
  void Catch(int number, const struct sigaction& action) {
    Caught& before = before_[caught_];
    if (::sigaction(number, nullptr, &before.action) != 0 || before.action.sa_handler == SIG_IGN)
      return;
    before.number = number;
    if (::sigaction(number, &action, nullptr) == 0) ++caught_;
  }

  std::array<int, 2> ends_{-1, -1};
  std::array<Caught, kSignals> before_{};
  std::size_t caught_ = 0;
};

// Turns off the terminal's echo until this is destroyed. A process in the background can neither do
// that nor undo it: it gets SIGTTOU.
class HiddenInput {
 public:
  HiddenInput() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios hidden = before_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    is_hidden_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0;
  }
  ~HiddenInput() {
    if (is_hidden_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  HiddenInput(const HiddenInput&) = delete;
  HiddenInput& operator=(const HiddenInput&) = delete;

  bool is_hidden() const { return is_hidden_; }

 private:
  termios before_{};
  bool is_hidden_ = false;
};

// A line of the terminal, or the number of the signal that came first.
struct Typed {
  std::string line;
  std::optional<int> signal;
};
Outcome<Typed> ReadTerminalLine(const SignalPipe& signals) {
  Typed typed;
  while (true) {
    std::array<pollfd, 2> ready{{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                 {.fd = signals.read_end(), .events = POLLIN, .revents = 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return Fail(ExitCode::kError, ErrnoText(errno));
    }
    if (ready[1].revents != 0) {
      typed.signal = signals.Next();
      return typed;
    }
    char c = 0;
    const ssize_t got = ::read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(ExitCode::kError, ErrnoText(errno));
    if (got == 0 || c == '\n') return typed;
    typed.line.push_back(c);
  }
}

Outcome<Typed> ReadHiddenLine() {
  const SignalPipe signals;
  if (!signals.is_open()) return Fail(ExitCode::kError, ErrnoText(errno));
  const HiddenInput hidden;
  if (hidden.is_hidden()) return ReadTerminalLine(signals);
  const std::string reason = ErrnoText(errno);
  if (const auto signal = signals.Next()) return Typed{.line = "", .signal = signal};
  return Fail(ExitCode::kError, reason);
}

// Signals have their usual effect once the terminal is restored. After a stop the prompt is
// repeated.
Outcome<std::string> AskTerminal(std::string_view prompt, std::ostream& out) {
  while (true) {
    KV_TRY(auto typed, ReadHiddenLine());
    if (!typed.signal) return std::move(typed.line);
    ::raise(*typed.signal);
    if (std::ranges::find(kStops, *typed.signal) == kStops.end())
      return Fail(ExitCode::kError, "interrupted");
    out << prompt << std::flush;
  }
}

}  // namespace

Outcome<std::string> AskPassword(std::string_view prompt, World& world) {
  world.out << prompt << std::flush;
  std::string line;
  if (&world.in == &std::cin && ::isatty(STDIN_FILENO) != 0) {
    KV_TRY(auto typed, AskTerminal(prompt, world.out));
    line = std::move(typed);
  } else {
    std::getline(world.in, line);
  }
  world.out << '\n' << std::flush;
  return line;
}

Outcome<std::string> AskNewPassword(std::string_view user, World& world) {
  const auto first = AskPassword(fmt::format("Password of {}: ", user), world);
  if (!first) return BadArguments("failed to ask password: " + first.error().message);
  if (first->empty()) return BadArguments("empty password");
  const auto second =
      AskPassword(fmt::format("Type password of {} again for confirmation: ", user), world);
  if (!second) return BadArguments("failed to ask password: " + second.error().message);
  if (*first != *second) return BadArguments("given passwords are different");
  return first;
}

Outcome<std::string> ReadPassword(World& world) {
  std::string line;
  std::getline(world.in, line);
  std::string password(Trim(line));
  if (password.empty()) return BadArguments("empty password");
  if (password.find_first_of(kBlanks) != std::string::npos)
    return BadArguments("the password read has white space in it");
  return password;
}

}  // namespace kvorum::ctl
