#include "base/log/journal_output.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kvorum {
namespace {

// The word after the mark, up to the end mark; empty if there is none.
std::string_view Between(std::string_view line, std::string_view mark, char end) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + mark.size());
  return line.substr(0, line.find(end));
}

int PriorityOf(std::string_view level) {
  if (level == "debug") return 7;
  if (level == "warn") return 4;
  if (level == "error") return 3;
  if (level == "panic" || level == "fatal") return 2;
  return 6;
}

}  // namespace

JournalFields JournalFieldsOf(std::string_view line) {
  std::string_view level;
  std::string_view caller;
  if (line.starts_with('{')) {
    level = Between(line, "\"level\":\"", '"');
    caller = Between(line, "\"caller\":\"", '"');
  } else {  // time, level, caller, message, with tabs between them
    level = Between(line, "\t", '\t');
    const std::size_t at = line.find('\t');
    if (at != std::string_view::npos) caller = Between(line.substr(at + 1), "\t", '\t');
  }
  const std::size_t slash = caller.rfind('/');
  return {
      .priority = PriorityOf(level),
      .package = slash == std::string_view::npos ? std::string_view(".") : caller.substr(0, slash)};
}

Result<std::unique_ptr<LogOutput>> JournalOutput::Open(const std::string& socket_path) {
  const auto fail = [&socket_path](int error) {
    return Fail(Code::kUnavailable,
                "can't find journal (dial unixgram " + socket_path + ": " + ErrnoText(error) + ")");
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) return fail(ENAMETOOLONG);
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return fail(errno);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    ::close(descriptor);
    return fail(error);
  }
  return std::unique_ptr<LogOutput>(new JournalOutput(descriptor));
}

JournalOutput::JournalOutput(int descriptor)
    : descriptor_(descriptor), identifier_(program_invocation_short_name) {}

JournalOutput::~JournalOutput() { ::close(descriptor_); }

void JournalOutput::Write(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    if (!line.empty() && !Send(line)) {
      WriteAll(STDERR_FILENO, line);
      WriteAll(STDERR_FILENO, "\n");
    }
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

bool JournalOutput::Send(std::string_view line) const {
  const JournalFields fields = JournalFieldsOf(line);
  std::string entry = "MESSAGE=";
  entry += line;
  entry += "\nPRIORITY=" + std::to_string(fields.priority) + "\nPACKAGE=";
  entry += fields.package;
  entry += "\nSYSLOG_IDENTIFIER=" + identifier_ + "\n";
  while (::send(descriptor_, entry.data(), entry.size(), MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace kvorum
