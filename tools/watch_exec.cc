#include "tools/watch_exec.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "tools/quote.h"

namespace kvorum::ctl {
namespace {

// For the spawn functions, which do not write there.
std::vector<char*> Pointers(std::span<const std::string> strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string WhyNotRun(const std::string& program, int error) {
  if (error == ENOENT && program.find('/') == std::string::npos)
    return "exec: " + Quote(program) + ": executable file not found in $PATH";
  std::string reason = std::strerror(error);
  reason.front() = static_cast<char>(reason.front() | 0x20);  // as Go has it
  return "fork/exec " + program + ": " + reason;
}

}  // namespace

std::expected<void, std::string> RunForEvent(std::span<const std::string> command,
                                             std::vector<std::string> environment,
                                             std::int64_t revision, const mvccpb::Event& event) {
  environment.push_back("ETCD_WATCH_REVISION=" + std::to_string(revision));
  environment.push_back("ETCD_WATCH_EVENT_TYPE=" +
                        Quote(mvccpb::Event_EventType_Name(event.type())));
  environment.push_back("ETCD_WATCH_KEY=" + Quote(event.kv().key()));
  environment.push_back("ETCD_WATCH_VALUE=" + Quote(event.kv().value()));
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), variables.data());
  if (error != 0) return std::unexpected(WhyNotRun(command.front(), error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::unexpected(std::string("wait: ") + std::strerror(errno));
  }
  if (WIFSIGNALED(status))
    return std::unexpected(std::string("signal: ") + strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return std::unexpected("exit status " + std::to_string(WEXITSTATUS(status)));
  return {};
}

}  // namespace kvorum::ctl
