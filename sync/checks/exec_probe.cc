#include "sync/checks/exec_probe.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/secret_variable.h"
#include "base/text/duration_text.h"

extern char** environ;

namespace kvorum::sync {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// The child leads its own process group, writes to the pipe, has no blocked signal and may
// wait for children.
class SpawnSettings {
 public:
  explicit SpawnSettings(int output) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    posix_spawnattr_setsigdefault(&attributes, &children);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

// A child that has not been waited for, so that its process group is still its own.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() { End(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void Kill() const { kill(-pid_, SIGKILL); }
  // Kills what is left of the group. Returns the status of the child as waitpid tells it; nothing
  // if the host program took it, or ignores SIGCHLD.
  std::optional<int> End() {
    if (pid_ == 0) return std::nullopt;
    Kill();
    int status = 0;
    pid_t ended = 0;
    do {
      ended = waitpid(pid_, &status, 0);
    } while (ended < 0 && errno == EINTR);
    pid_ = 0;
    if (ended < 0) return std::nullopt;
    return status;
  }

 private:
  pid_t pid_;
};

std::string WhyNotRun(const std::string& program, int error) {
  return program + " could not be run: " + ErrnoText(error);
}

// More than a pipe holds when its program has ended.
constexpr std::size_t kMaxPipeBytes = std::size_t{1} << 20U;

Health HealthOfCode(int code) {
  if (code == 0) return Health::kPassing;
  return code == 1 ? Health::kWarning : Health::kCritical;
}

class Run : public std::enable_shared_from_this<Run> {
 public:
  Run(asio::io_context& io, pid_t pid, int output, const CheckDefinition& check,
      Prober::OnEnd on_end)
      : child_(pid),
        output_(io, output),
        pidfd_(io),
        timer_(io),
        timeout_(check.timeout),
        is_consuls_(!check.details.empty()),
        max_bytes_(check.output_max_bytes),
        on_end_(std::move(on_end)) {}

  // Without a pidfd: the child is gone, and somebody else has taken its end.
  void Begin(std::optional<int> pidfd) {
    error_code ignored;
    output_.non_blocking(true, ignored);
    if (!pidfd) return Ended();
    pidfd_.assign(*pidfd);
    timer_.expires_after(timeout_);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (error) return;
      self->is_late_ = true;
      self->child_.Kill();
    });
    pidfd_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const error_code&) { self->Ended(); });
    Read();
  }

 private:
  // Everything is read, so that the program never waits for us.
  void Read() {
    output_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](const error_code& error, std::size_t size) {
                              if (error) return;
                              self->Keep(size);
                              if (!self->has_ended_) self->Read();
                            });
  }
  void Keep(std::size_t size) {
    written_ += size;
    if (!is_consuls_) {
      text_.append(buffer_.data(), std::min(size, max_bytes_ - text_.size()));
      return;
    }
    text_.append(buffer_.data(), size);
    if (text_.size() > 2 * buffer_.size() + max_bytes_) text_.erase(0, text_.size() - max_bytes_);
  }
  // The bytes that are in the pipe already belong to the output; its end may never come, since what
  // the program began may go on writing.
  void ReadRest() {
    error_code error;
    for (std::size_t rest = 0; rest < kMaxPipeBytes;) {
      const std::size_t size = output_.read_some(asio::buffer(buffer_), error);
      if (error) return;
      rest += size;
      Keep(size);
    }
  }

  // The part of the output that is kept.
  std::string Written() const {
    if (!is_consuls_ || written_ <= max_bytes_) return text_;
    std::string said = "Captured " + std::to_string(max_bytes_) + " of " +
                       std::to_string(written_) + " bytes\n...\n";
    return said.append(text_, text_.size() - max_bytes_);
  }

  // A check with details says it in Consul's words.
  std::string WhyLate() const {
    if (is_consuls_) return "Timed out (" + FormatDuration(timeout_) + ") running check";
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout_);
    return "killed after " + std::to_string(ms.count()) + " ms";
  }

  // A read that is done, and whose handler has not run yet, has the bytes before the rest.
  void Ended() {
    timer_.cancel();
    has_ended_ = true;
    asio::post(output_.get_executor(), [self = shared_from_this(), status = child_.End()] {
      self->ReadRest();
      self->output_.close();
      self->Report(status);
    });
  }

  void Report(const std::optional<int>& status) {
    const std::string text = Written();
    const auto clean = [this](const std::string& output) {
      return CleanOutput(output, is_consuls_ ? kMaxCutOutputBytes : kMaxOutputBytes);
    };
    ProbeResult result{.health = Health::kCritical, .output = clean(text)};
    if (is_late_) {
      result.output = clean(WhyLate() + "\n" + text);
    } else if (!status) {
      result.output = clean("its end was not seen\n" + text);
    } else if (WIFEXITED(*status)) {
      result.health = HealthOfCode(WEXITSTATUS(*status));
    } else {
      result.output = clean("ended by signal " + std::to_string(WTERMSIG(*status)) + "\n" + text);
    }
    std::exchange(on_end_, nullptr)(std::move(result));
  }

  Child child_;
  asio::posix::stream_descriptor output_;
  asio::posix::stream_descriptor pidfd_;
  asio::steady_timer timer_;
  const Duration timeout_;
  const bool is_consuls_;
  const std::size_t max_bytes_;
  Prober::OnEnd on_end_;
  std::array<char, 4096> buffer_{};
  std::string text_;         // the first max_bytes_; of a check of Consul's form, the last or more
  std::size_t written_ = 0;  // by the program
  bool is_late_ = false;
  bool has_ended_ = false;
};

// For the spawn functions, which do not write to them.
std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The agent's environment without the passwords that it has itself.
std::vector<char*> VariablesForChecks() {
  std::vector<char*> variables;
  for (char** each = environ; *each != nullptr; ++each)
    if (!IsSecretVariable(*each)) variables.push_back(*each);
  variables.push_back(nullptr);
  return variables;
}

}  // namespace

void BeginExecProbe(asio::io_context& io, const CheckDefinition& check, Prober::OnEnd on_end) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0)
    return on_end({.output = WhyNotRun(check.command.front(), errno)});
  const std::vector<char*> arguments = Pointers(check.command);
  const std::vector<char*> variables = VariablesForChecks();
  pid_t pid = 0;
  int error = 0;
  {
    const SpawnSettings settings(pipe[1]);
    error = posix_spawnp(&pid, arguments[0], &settings.actions, &settings.attributes,
                         arguments.data(), variables.data());
  }
  close(pipe[1]);
  if (error != 0) {
    close(pipe[0]);
    return on_end({.output = WhyNotRun(check.command.front(), error)});
  }
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0 && errno != ESRCH) {
    error = errno;
    close(pipe[0]);
    Child(pid).End();
    return on_end({.output = WhyNotRun(check.command.front(), error)});
  }
  std::make_shared<Run>(io, pid, pipe[0], check, std::move(on_end))
      ->Begin(pidfd < 0 ? std::nullopt : std::optional(pidfd));
}

}  // namespace kvorum::sync
