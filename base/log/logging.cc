#include "base/log/logging.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log/log_output.h"
#include "base/log/log_queue.h"
#include "base/log/rotating_file.h"

namespace kvorum {
namespace {

constexpr std::chrono::milliseconds kExitLimit(1000);

using Outputs = std::vector<std::unique_ptr<LogOutput>>;

Result<Outputs> OpenOutputs(const std::vector<std::string>& names,
                            const LogRotation* rotation = nullptr) {
  Outputs outputs;
  for (const std::string& name : names) {
    KV_TRY(std::unique_ptr<LogOutput> output, LogOutput::Open(name, rotation));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

// The queue and the thread that empties it. There is one, which is never destroyed: its thread may
// be stuck in a write that never returns, and nothing may wait for that.
class AsyncLog {
 public:
  AsyncLog() {
    outputs_ = std::make_shared<Outputs>(OpenOutputs({"default"}).value());
    thread_ = std::thread([this] { Run(); });
    std::atexit([] { FlushLog(kExitLimit); });
  }

  // False in a forked process, which does not have our thread, and may have copied our lock, or the
  // C library's of the time zone, from a thread that held it.
  bool is_ours() const { return ::getpid() == process_; }

  // Returns false if the line was dropped. Only if is_ours().
  bool Push(std::string line) {
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.size() >= LogQueue::kMaxLines ||
          queued_bytes_ + line.size() > LogQueue::kMaxBytes) {
        ++unreported_;
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
      queued_bytes_ += line.size();
      queue_.push_back(std::move(line));
      ++pushed_;
      wake = std::exchange(idle_, false);
    }
    if (wake) wake_.notify_one();
    return true;
  }

  bool Flush(std::chrono::milliseconds limit) {
    if (!is_ours()) return false;
    std::unique_lock lock(mutex_);
    const std::uint64_t target = pushed_;
    return written_changed_.wait_for(lock, limit, [&] { return written_ >= target; });
  }

  void Replace(Outputs outputs, bool json) {
    Flush(kExitLimit);
    const std::lock_guard lock(mutex_);
    outputs_ = std::make_shared<Outputs>(std::move(outputs));
    json_.store(json, std::memory_order_relaxed);
  }

  bool json() const { return json_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  LogQueue waiting() {
    const std::lock_guard lock(mutex_);
    return {.lines = queue_.size(), .bytes = queued_bytes_};
  }

  std::atomic<LogLevel> level = LogLevel::kInfo;

 private:
  [[noreturn]] void Run() {
    pthread_setname_np(pthread_self(), "log");
    std::string batch;
    std::unique_lock lock(mutex_);
    while (true) {
      while (queue_.empty() && unreported_ == 0) {
        idle_ = true;
        wake_.wait(lock);
      }
      idle_ = false;
      const std::size_t count = TakeBatch(batch);
      const std::shared_ptr<Outputs> outputs = outputs_;
      lock.unlock();
      for (const auto& output : *outputs) output->Write(batch);
      lock.lock();
      written_ += count;
      written_changed_.notify_all();
    }
  }

  // Joins the queued lines into one text, so that they need one write. Returns their number.
  std::size_t TakeBatch(std::string& batch) {
    batch.clear();
    const std::size_t count = queue_.size();
    for (const std::string& line : queue_) {
      batch += line;
      batch += '\n';
    }
    queue_.clear();
    queued_bytes_ = 0;
    if (const std::uint64_t lost = std::exchange(unreported_, 0); lost != 0) {
      batch += FormatLogLine(json(), LogLevel::kWarn, SystemClock().WallNanos(), __FILE__, __LINE__,
                             "log lines were dropped because the output did not keep up",
                             {{"count", lost}, {"total", dropped()}});
      batch += '\n';
    }
    return count;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable written_changed_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t pushed_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t unreported_ = 0;
  bool idle_ = false;
  std::shared_ptr<Outputs> outputs_;
  std::atomic<bool> json_ = true;
  std::atomic<std::uint64_t> dropped_ = 0;
  const pid_t process_ = ::getpid();
  std::thread thread_;
};

AsyncLog& TheLog() {
  static AsyncLog& log = *new AsyncLog;
  return log;
}

// Writes as much as the descriptor accepts without blocking: poll reports a pipe writable when it
// has room for PIPE_BUF bytes.
void WriteToStderrWithoutBlocking(std::string_view text) {
  while (!text.empty()) {
    pollfd ready = {STDERR_FILENO, POLLOUT, 0};
    if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
    const ssize_t n = ::write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), 512));
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

Result<void> InitLogging(const LogOptions& options) {
  KV_TRY(Outputs outputs, OpenOutputs(options.outputs));
  TheLog().Replace(std::move(outputs), options.json);
  SetLogLevel(options.level);
  return {};
}

Result<void> InitLogging(const LogOptions& options, const LogRotation& rotation) {
  KV_TRY(Outputs outputs, OpenOutputs(options.outputs, &rotation));
  TheLog().Replace(std::move(outputs), options.json);
  SetLogLevel(options.level);
  return {};
}

bool FlushLog(std::chrono::milliseconds limit) { return TheLog().Flush(limit); }

bool LogEnabled(LogLevel level) { return level >= TheLog().level.load(std::memory_order_relaxed); }

void SetLogLevel(LogLevel level) { TheLog().level.store(level, std::memory_order_relaxed); }

LogQueue WaitingLogLines() { return TheLog().waiting(); }

std::uint64_t DroppedLogLines() { return TheLog().dropped(); }

void WriteLog(LogLevel level, const char* file, int line, std::string_view message,
              std::initializer_list<LogField> fields) {
  AsyncLog& log = TheLog();
  if (!log.is_ours()) return;
  log.Push(
      FormatLogLine(log.json(), level, SystemClock().WallNanos(), file, line, message, fields));
}

void WriteLogBeforeExit(LogLevel level, const char* file, int line, std::string_view message,
                        std::initializer_list<LogField> fields) {
  AsyncLog& log = TheLog();
  std::string text =
      FormatLogLine(log.json(), level, SystemClock().WallNanos(), file, line, message, fields);
  if (log.is_ours() && log.Push(text) && log.Flush(kExitLimit)) return;
  text += '\n';
  WriteToStderrWithoutBlocking(text);
}

namespace {

[[maybe_unused]] const bool checks_are_logged = [] {
  SetCheckReport([](const char* file, int line, const char* condition, std::string_view what) {
    WriteLogBeforeExit(LogLevel::kFatal, file, line, what, {{"condition", condition}});
  });
  return true;
}();

}  // namespace
}  // namespace kvorum
