#include "base/log/log_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/log/journal_output.h"
#include "base/log/rotating_file.h"

namespace kvorum {
namespace {

class StreamOutput final : public LogOutput {
 public:
  StreamOutput(int descriptor, bool is_ours) : descriptor_(descriptor), is_ours_(is_ours) {}
  ~StreamOutput() override {
    if (is_ours_) ::close(descriptor_);
  }

  void Write(std::string_view lines) override { WriteAll(descriptor_, lines); }

 private:
  int descriptor_;
  bool is_ours_;
};

}  // namespace

Result<std::unique_ptr<LogOutput>> LogOutput::Open(const std::string& name,
                                                   const LogRotation* rotation) {
  if (name == "stderr" || name == "default")
    return std::make_unique<StreamOutput>(STDERR_FILENO, false);
  if (name == "stdout") return std::make_unique<StreamOutput>(STDOUT_FILENO, false);
  if (name == "systemd/journal") return JournalOutput::Open(kJournalSocket);
  std::error_code ignored;  // the error shows at open
  std::filesystem::create_directories(std::filesystem::path(name).parent_path(), ignored);
  if (rotation != nullptr) return RotatingFile::Open(name, *rotation);
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor >= 0) return std::make_unique<StreamOutput>(descriptor, true);
  return Fail(Code::kInvalidArgument, "log output \"" + name + "\": " + ErrnoText(errno));
}

void LogOutput::sink_it_(const spdlog::details::log_msg& message) {
  lines_.append(message.payload.data(), message.payload.size());
  lines_ += '\n';
}

void LogOutput::flush_() {
  if (!lines_.empty()) Write(lines_);
  lines_.clear();
}

bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another user of the stream made it non-blocking
      pollfd ready = {descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace kvorum
