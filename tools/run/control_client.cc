#include "tools/run/control_client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "rpc/tls/socket.h"
#include "tools/run/control.h"

namespace kvorum::ctl {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20U;

std::unexpected<Failure> NoConnection(const std::string& socket, const std::string& why) {
  return Fail(ExitCode::kBadConnection, socket + ": " + why);
}

Outcome<FileDescriptor> ConnectToSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return NoConnection(path, "the path is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return NoConnection(path,
                        errno == ECONNREFUSED ? "no process listens there" : ErrnoText(errno));
  }
  return fd;
}

// The lines of the answer, as they come.
class AnswerLines {
 public:
  AnswerLines(const std::string& socket, FileDescriptor fd, const AskOptions& options)
      : socket_(socket),
        fd_(std::move(fd)),
        options_(options),
        wake_(eventfd(0, EFD_CLOEXEC)),
        on_stop_(options.stop, WakeUp{wake_.get()}) {}

  // The rest is left out if the server has answered already.
  void Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  // Nothing: the call was stopped.
  Outcome<std::optional<std::string>> Next() {
    std::size_t searched = 0;
    while (true) {
      const std::size_t end = input_.find('\n', searched);
      if (end != std::string::npos) {
        std::string line = input_.substr(0, end);
        input_.erase(0, end + 1);
        return line;
      }
      if (input_.size() > kMaxLineBytes) return NoConnection(socket_, "a line without an end");
      searched = input_.size();
      KV_TRY(const bool goes_on, Read());
      if (!goes_on) return std::nullopt;
    }
  }

 private:
  struct WakeUp {
    int fd;
    void operator()() const {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof one);
    }
  };

  Outcome<bool> Read() {
    std::array<pollfd, 2> ready{{{.fd = fd_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(options_.patience).count();
    const int count = poll(ready.data(), ready.size(), static_cast<int>(limit));
    if (count < 0 && errno == EINTR) return true;
    if (ready[1].revents != 0) return false;
    if (count == 0) return NoConnection(socket_, "no answer");
    std::array<char, 65536> buffer;
    const std::ptrdiff_t received = rpc::ReceiveBytes(fd_.get(), buffer);
    if (received <= 0) return NoConnection(socket_, "the connection ended before the answer did");
    input_.append(buffer.data(), static_cast<std::size_t>(received));
    return true;
  }

  const std::string& socket_;
  const FileDescriptor fd_;
  const AskOptions& options_;
  const FileDescriptor wake_;
  const std::stop_callback<WakeUp> on_stop_;
  std::string input_;
};

}  // namespace

Outcome<sync::Json> AskControl(const std::string& socket, const sync::Json& request,
                               const AskOptions& options) {
  KV_TRY(FileDescriptor fd, ConnectToSocket(socket));
  AnswerLines lines(socket, std::move(fd), options);
  lines.Send(ControlText(request) + '\n');
  while (true) {
    KV_TRY(const auto text, lines.Next());
    if (!text) return sync::Json::object();
    const auto line = sync::ParseObject("the answer", *text);
    if (!line) return NoConnection(socket, line.error().message);
    if (const auto ok = line->find("ok"); ok != line->end()) return *ok;
    if (const auto error = line->find("error"); error != line->end() && error->is_string())
      return Fail(ExitCode::kError, error->get<std::string>());
    const auto item = line->find("item");
    if (item == line->end())
      return NoConnection(socket, "the answer is neither item, ok nor error");
    if (options.on_item && !options.on_item(*item)) return sync::Json::object();
  }
}

}  // namespace kvorum::ctl
