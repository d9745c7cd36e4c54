#include "tools/run_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/go_quote.h"
#include "proto/kv.pb.h"

namespace kvorum::ctl {
namespace {

constexpr int kEndedBySignal = 255;

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
  std::string reason = std::strerror(error);
  reason.front() = static_cast<char>(reason.front() | 0x20);  // as in Go
  return "fork/exec " + program + ": " + reason;
}

// A child inherits nothing of ours but the output streams: it has no input and no blocked signal.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
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

}  // namespace

std::expected<ProgramEnd, std::string> RunProgram(std::span<const std::string> command,
                                                  std::span<const std::string> environment) {
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  const SpawnSettings settings;
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &settings.actions, &settings.attributes,
                                 arguments.data(), variables.data());
  if (error != 0) return std::unexpected(WhyNotRun(command.front(), error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::unexpected(std::string("wait: ") + std::strerror(errno));
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
