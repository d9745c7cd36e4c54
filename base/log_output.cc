#include "base/log_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace kvorum {

Result<LogOutput> LogOutput::Open(const std::string& name) {
  if (name == "stderr" || name == "default") return LogOutput(STDERR_FILENO, false);
  if (name == "stdout") return LogOutput(STDOUT_FILENO, false);
  std::error_code ignored;  // the error shows at open
  std::filesystem::create_directories(std::filesystem::path(name).parent_path(), ignored);
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor >= 0) return LogOutput(descriptor, true);
  return Fail(Code::kInvalidArgument,
              "log output \"" + name + "\": " + std::generic_category().message(errno));
}

LogOutput::~LogOutput() {
  if (is_ours_) ::close(descriptor_);
}

void LogOutput::Write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another user of the stream made it non-blocking
      pollfd ready = {descriptor_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace kvorum
