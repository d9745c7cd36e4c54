#include "base/log/logging.h"

#include <poll.h>
#include <pthread.h>
#include <spdlog/async.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log/log_output.h"
#include "base/log/log_queue.h"
#include "base/log/log_rotation.h"

namespace kvorum {
namespace {

constexpr std::chrono::milliseconds kExitLimit(1000);

using Outputs = std::vector<std::shared_ptr<LogOutput>>;

Result<Outputs> OpenOutputs(const std::vector<std::string>& names,
                            const LogRotation* rotation = nullptr) {
  Outputs outputs;
  for (const std::string& name : names) {
    KV_TRY(std::unique_ptr<LogOutput> output, LogOutput::Open(name, rotation));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kPanic:
    case LogLevel::kFatal:
      return spdlog::level::critical;
  }
  return spdlog::level::critical;
}

// The lines that wait for the log's thread: counted in front of spdlog's queue, which bounds their
// number alone. A line that does not fit is dropped.
class Waiting {
 public:
  // Returns false if the line was dropped.
  bool Add(std::size_t bytes) {
    const std::size_t lines = lines_.fetch_add(1) + 1;
    const std::size_t sum = bytes_.fetch_add(bytes) + bytes;
    if (lines <= LogQueue::kMaxLines && sum <= LogQueue::kMaxBytes) return true;
    Remove(bytes);
    unreported_.fetch_add(1);
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  // Returns true if no line is left.
  bool Remove(std::size_t bytes) {
    bytes_.fetch_sub(bytes);
    return lines_.fetch_sub(1) == 1;
  }
  std::uint64_t TakeUnreported() { return unreported_.exchange(0); }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  LogQueue fill() const { return {.lines = lines_.load(), .bytes = bytes_.load()}; }

 private:
  std::atomic<std::size_t> lines_ = 0;
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<std::uint64_t> unreported_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
};

// The logger's one sink. It hands each line to the outputs and has them write when no other line
// waits, so that a burst needs one write. Called by the log's thread, but for Replace and Await.
class FanOut final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  FanOut(Waiting& waiting, const std::atomic<bool>& json) : waiting_(waiting), json_(json) {}

  void Replace(Outputs outputs) {
    const std::lock_guard lock(outputs_mutex_);
    outputs_ = std::make_shared<Outputs>(std::move(outputs));
  }
  // Waits until so many lines were written since the start; false when time ran out.
  bool Await(std::uint64_t lines, std::chrono::milliseconds limit) {
    std::unique_lock lock(outputs_mutex_);
    return written_changed_.wait_for(lock, limit, [&] { return written_ >= lines; });
  }

 private:
  static constexpr std::size_t kMaxBatchBytes = std::size_t{64} << 10;

  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::size_t bytes = message.payload.size();
    const bool last = waiting_.Remove(bytes);
    ++taken_lines_;
    taken_bytes_ += bytes;
    const std::shared_ptr<Outputs> outputs = Present();
    for (const auto& output : *outputs) output->log(message);
    if (last || taken_bytes_ >= kMaxBatchBytes) WriteOut(*outputs);
  }
  void flush_() override {}

  std::shared_ptr<Outputs> Present() {
    const std::lock_guard lock(outputs_mutex_);
    return outputs_;
  }
  void WriteOut(const Outputs& outputs) {
    if (const std::uint64_t lost = waiting_.TakeUnreported(); lost != 0) {
      const std::string line =
          FormatLogLine(json_, LogLevel::kWarn, SystemClock().WallNanos(), __FILE__, __LINE__,
                        "log lines were dropped because the output did not keep up",
                        {{"count", lost}, {"total", waiting_.dropped()}});
      for (const auto& output : outputs)
        output->log(spdlog::details::log_msg({}, spdlog::level::warn, line));
    }
    for (const auto& output : outputs) output->flush();
    taken_bytes_ = 0;
    const std::lock_guard lock(outputs_mutex_);
    written_ += std::exchange(taken_lines_, 0);
    written_changed_.notify_all();
  }

  Waiting& waiting_;
  const std::atomic<bool>& json_;
  std::uint64_t taken_lines_ = 0;  // since the last write
  std::size_t taken_bytes_ = 0;
  std::mutex outputs_mutex_;  // guards what follows
  std::condition_variable written_changed_;
  std::uint64_t written_ = 0;
  std::shared_ptr<Outputs> outputs_;
};

// spdlog's asynchronous logger with one thread. There is one, which is never destroyed: its thread
// may be stuck in a write that never returns, and nothing may wait for that.
class AsyncLog {
 public:
  AsyncLog() {
    sink_->Replace(OpenOutputs({"default"}).value());
    logger_->set_error_handler([](const std::string&) {});  // there is no other place to report it
    std::atexit([] { FlushLog(kExitLimit); });
  }

  // False in a forked process, which does not have our thread, and may have copied the queue's
  // lock, or the C library's of the time zone, from a thread that held it.
  bool is_ours() const { return ::getpid() == process_; }

  // Returns false if the line was dropped. Only if is_ours().
  bool Push(LogLevel level, std::string_view line) {
    if (!waiting_.Add(line.size())) return false;
    pushed_.fetch_add(1);
    logger_->log(SpdlogLevel(level), spdlog::string_view_t(line.data(), line.size()));
    return true;
  }

  bool Flush(std::chrono::milliseconds limit) {
    return is_ours() && sink_->Await(pushed_.load(), limit);
  }

  void Replace(Outputs outputs, bool json) {
    Flush(kExitLimit);
    sink_->Replace(std::move(outputs));
    json_.store(json, std::memory_order_relaxed);
  }

  bool json() const { return json_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const { return waiting_.dropped(); }
  LogQueue waiting() const { return waiting_.fill(); }
  spdlog::logger& logger() { return *logger_; }

 private:
  Waiting waiting_;
  std::atomic<std::uint64_t> pushed_ = 0;
  std::atomic<bool> json_ = true;
  const pid_t process_ = ::getpid();
  const std::shared_ptr<FanOut> sink_ = std::make_shared<FanOut>(waiting_, json_);
  const std::shared_ptr<spdlog::details::thread_pool> pool_ =
      std::make_shared<spdlog::details::thread_pool>(
          LogQueue::kMaxLines, 1, [] { pthread_setname_np(pthread_self(), "log"); });
  // Waiting keeps the queue from being full: nothing is ever overrun.
  const std::shared_ptr<spdlog::async_logger> logger_ = std::make_shared<spdlog::async_logger>(
      "kvorum", sink_, pool_, spdlog::async_overflow_policy::overrun_oldest);
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

bool LogEnabled(LogLevel level) { return TheLog().logger().should_log(SpdlogLevel(level)); }

void SetLogLevel(LogLevel level) { TheLog().logger().set_level(SpdlogLevel(level)); }

LogQueue WaitingLogLines() { return TheLog().waiting(); }

std::uint64_t DroppedLogLines() { return TheLog().dropped(); }

void WriteLog(LogLevel level, const char* file, int line, std::string_view message,
              std::initializer_list<LogField> fields) {
  AsyncLog& log = TheLog();
  if (!log.is_ours()) return;
  log.Push(level, FormatLogLine(log.json(), level, SystemClock().WallNanos(), file, line, message,
                                fields));
}

void WriteLogBeforeExit(LogLevel level, const char* file, int line, std::string_view message,
                        std::initializer_list<LogField> fields) {
  AsyncLog& log = TheLog();
  std::string text =
      FormatLogLine(log.json(), level, SystemClock().WallNanos(), file, line, message, fields);
  if (log.is_ours() && log.Push(level, text) && log.Flush(kExitLimit)) return;
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
