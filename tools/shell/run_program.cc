#include "tools/shell/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/secret_variable.h"
#include "base/text/go_quote.h"
#include "proto/kv.pb.h"

namespace kvorum::ctl {
namespace {

constexpr int kEndedBySignal = 255;
constexpr int kTermPatienceMs = 5000;

// For the spawn functions, which do not write to them.
std::vector<char*> Pointers(std::span<const std::string> strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string WhyNotRun(const std::string& program, int error) {
  if (error == ENOENT && program.find('/') == std::string::npos)
    return "exec: " + GoQuote(program) + ": executable file not found in $PATH";
  return "fork/exec " + program + ": " + GoErrnoText(error);
}

// A child inherits nothing of ours but the output streams: it has its own input, and no blocked
// signal.
class SpawnSettings {
 public:
  SpawnSettings(int input, const ProgramOptions& options) {
    posix_spawn_file_actions_init(&actions);
    if (input < 0)
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    else
      posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (options.output_to_error)
      posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    const int group = options.stop.stop_possible() ? POSIX_SPAWN_SETPGROUP : 0;
    posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | group));
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// A file in memory, so that no thread has to write while the program reads: -1 if there is no
// input.
int MakeInput(std::string_view bytes) {
  if (bytes.empty()) return -1;
  const int fd = memfd_create("input", MFD_CLOEXEC);
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) break;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  lseek(fd, 0, SEEK_SET);
  return fd;
}

bool IsReadable(int fd, int other, int limit_ms) {
  std::array<pollfd, 2> ready{
      {{.fd = fd, .events = POLLIN, .revents = 0}, {.fd = other, .events = POLLIN, .revents = 0}}};
  while (poll(ready.data(), ready.size(), limit_ms) < 0 && errno == EINTR) {
  }
  return ready[0].revents != 0;
}

struct WakeUp {
  int fd;
  void operator()() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof one);
  }
};

// Returns once the child has ended, by itself or because it was stopped.
void AwaitEnd(pid_t child, const std::stop_token& stop) {
  const FileDescriptor ended(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  const FileDescriptor stopped(eventfd(0, EFD_CLOEXEC));
  const std::stop_callback wake(stop, WakeUp{stopped.get()});
  if (IsReadable(ended.get(), stopped.get(), -1)) return;
  kill(-child, SIGTERM);
  if (IsReadable(ended.get(), -1, kTermPatienceMs)) return;
  kill(-child, SIGKILL);
}

}  // namespace

std::expected<ProgramEnd, std::string> RunProgram(std::span<const std::string> command,
                                                  std::span<const std::string> environment,
                                                  const ProgramOptions& options) {
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  const FileDescriptor input(MakeInput(options.input));
  const SpawnSettings settings(input.get(), options);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &settings.actions, &settings.attributes,
                                 arguments.data(), variables.data());
  if (error != 0) return std::unexpected(WhyNotRun(command.front(), error));
  if (options.stop.stop_possible()) AwaitEnd(child, options.stop);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::unexpected(std::string("wait: ") + ErrnoText(errno));
  }
  if (WIFSIGNALED(status)) {
    std::string name = strsignal(WTERMSIG(status));
    if (!name.empty()) name.front() = static_cast<char>(name.front() | 0x20);
    return ProgramEnd{.code = kEndedBySignal, .reason = "signal: " + name};
  }
  const int code = WEXITSTATUS(status);
  if (code == 0) return ProgramEnd{};
  return ProgramEnd{.code = code, .reason = "exit status " + std::to_string(code)};
}

std::vector<std::string> WithoutSecrets(std::vector<std::string> environment) {
  std::erase_if(environment, [](const std::string& each) { return IsSecretVariable(each); });
  return environment;
}

std::expected<void, std::string> RunForEvent(std::span<const std::string> command,
                                             std::vector<std::string> environment,
                                             std::int64_t revision, const mvccpb::Event& event) {
  environment.push_back("ETCD_WATCH_REVISION=" + std::to_string(revision));
  environment.push_back("ETCD_WATCH_EVENT_TYPE=" +
                        GoQuote(mvccpb::Event_EventType_Name(event.type())));
  environment.push_back("ETCD_WATCH_KEY=" + GoQuote(event.kv().key()));
  environment.push_back("ETCD_WATCH_VALUE=" + GoQuote(event.kv().value()));
  KV_TRY(const auto ran, RunProgram(command, environment));
  if (!ran.reason.empty()) return std::unexpected(ran.reason);
  return {};
}

}  // namespace kvorum::ctl
