#include "tests/differential/server_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "tests/differential/ports.h"

namespace kvorum::differential {
namespace {

constexpr std::chrono::seconds kStartTimeout(60);
constexpr std::size_t kLogTailBytes = 3000;

std::string LoopbackUrl(int port) { return "http://127.0.0.1:" + std::to_string(port); }

}  // namespace

ServerProcess::ServerProcess(std::string name, std::filesystem::path binary)
    : name_(std::move(name)), binary_(std::move(binary)) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / ("kvorum-differential-" + name_ + "-XXXXXX"))
          .string();
  if (mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
}

ServerProcess::~ServerProcess() {
  Stop(SIGKILL);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<void> ServerProcess::Spawn() {
  if (folder_.empty()) return Fail(Code::kInternal, "no folder for " + name_);
  const int port = FreePort();
  KV_RETURN_IF_ERROR(Fork({binary_.string(), "--data-dir", (folder_ / "data").string(),
                           "--listen-client-urls", LoopbackUrl(port), "--advertise-client-urls",
                           LoopbackUrl(port), "--listen-peer-urls", LoopbackUrl(FreePort())}));
  lane_ = std::make_unique<Lane>("127.0.0.1:" + std::to_string(port));
  return {};
}

Result<void> ServerProcess::Fork(std::vector<std::string> words) {
  std::vector<char*> arguments(words.size() + 1, nullptr);
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  std::string path = "PATH=/usr/bin:/bin";
  char* environment[] = {path.data(), nullptr};
  const std::string log = LogFile().string();

  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {  // only calls allowed between fork and exec in a process with threads
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const int in = open("/dev/null", O_RDONLY);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execve(arguments[0], arguments.data(), environment);
    _exit(127);
  }
  if (pid_ < 0) return Fail(Code::kInternal, std::string("fork: ") + std::strerror(errno));
  return {};
}

Result<void> ServerProcess::Move(const std::filesystem::path& mover, const std::string& command,
                                 const std::filesystem::path& to_binary) {
  KV_RETURN_IF_ERROR(
      Fork({mover.string(), command, "--data-dir", (folder_ / "data").string(), "--drop-old"}));
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  if (status != 0) return Fail(Code::kInternal, command + " failed; its log ends:\n" + LogTail());
  binary_ = to_binary;
  return {};
}

bool ServerProcess::HasEnded() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

Result<void> ServerProcess::Start() {
  KV_RETURN_IF_ERROR(Spawn());
  const auto end = std::chrono::steady_clock::now() + kStartTimeout;
  while (!HasEnded() && std::chrono::steady_clock::now() < end) {
    if (lane_->IsServing()) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  Stop(SIGKILL);
  return Fail(Code::kUnavailable,
              binary_.string() + " did not get ready to serve; its log ends:\n" + LogTail());
}

void ServerProcess::Stop(int signal) {
  if (pid_ > 0) {
    kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  lane_.reset();
}

std::string ServerProcess::LogTail() const {
  std::ifstream file(LogFile(), std::ios::binary);
  const std::string log(std::istreambuf_iterator<char>(file), {});
  return log.size() <= kLogTailBytes ? log : "..." + log.substr(log.size() - kLogTailBytes);
}

}  // namespace kvorum::differential
