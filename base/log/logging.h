// Log lines with fields, in JSON (one object per line: level, ts, caller, msg, then the fields) or
// console form.
//
// Logging never blocks serving: lines go to a bounded queue of spdlog's that a separate thread
// writes out. When the queue is full a line is dropped and counted, and a later line reports the
// number once there is room. The queue is flushed at exit, for at most one second. Thread-safe. A
// line costs its formatting, one or two allocations and one short lock. A forked process logs only
// its last words.
//
//   KV_INFO("opened the log", {"dir", dir}, {"segments", count});
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/strong_number.h"

namespace kvorum {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kPanic, kFatal };

// A field whose name is empty is left out of the line.
struct LogField {
  enum class Kind : std::uint8_t { kString, kInteger, kUnsigned, kDouble, kBool, kStrings };
  std::string_view name;
  Kind kind = Kind::kString;
  std::string_view text = {};
  std::int64_t integer = 0;
  std::uint64_t unsigned_integer = 0;
  double number = 0;
  std::span<const std::string> texts = {};

  LogField(std::string_view n, std::string_view value) : name(n), text(value) {}
  LogField(std::string_view n, const char* value) : name(n), text(value) {}
  LogField(std::string_view n, const std::string& value) : name(n), text(value) {}
  LogField(std::string_view n, bool value) : name(n), kind(Kind::kBool), integer(value ? 1 : 0) {}
  LogField(std::string_view n, std::span<const std::string> values)
      : name(n), kind(Kind::kStrings), texts(values) {}
  LogField(std::string_view n, double value) : name(n), kind(Kind::kDouble), number(value) {}
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  LogField(std::string_view n, T value) : name(n) {
    if constexpr (std::is_signed_v<T>) {
      kind = Kind::kInteger;
      integer = value;
    } else {
      kind = Kind::kUnsigned;
      unsigned_integer = value;
    }
  }
  template <class Tag>
  LogField(std::string_view n, StrongNumber<Tag> value) : LogField(n, value.value()) {}
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  bool json = true;
  // "stderr", "stdout", "default" (stderr) or a file's path.
  std::vector<std::string> outputs = {"default"};
};

// Replaces the process's outputs (JSON at level info to stderr until the first call). Errors name
// the output that cannot be opened; the old outputs stay then.
Result<void> InitLogging(const LogOptions& options);
// Writes out the queued lines and waits for that for at most `limit`. Returns false when time ran
// out.
bool FlushLog(std::chrono::milliseconds limit = std::chrono::milliseconds(1000));
bool LogEnabled(LogLevel level);
void SetLogLevel(LogLevel level);
// The number of lines dropped since the start because the output did not keep up.
std::uint64_t DroppedLogLines();

void WriteLog(LogLevel level, const char* file, int line, std::string_view message,
              std::initializer_list<LogField> fields);

// Logs the last words of a process that aborts: the line goes the usual way and is flushed, for at
// most one second; if the queue is full or the output is stuck, it goes straight to stderr, unless
// that would block too.
void WriteLogBeforeExit(LogLevel level, const char* file, int line, std::string_view message,
                        std::initializer_list<LogField> fields);

// One formatted line without its newline, as outputs get it. `ts` is in the local time zone.
std::string FormatLogLine(bool json, LogLevel level, std::int64_t wall_ns, const char* file,
                          int line, std::string_view message,
                          std::initializer_list<LogField> fields);

}  // namespace kvorum

#define KV_LOG(level, message, ...)                                          \
  do {                                                                       \
    if (::kvorum::LogEnabled(level))                                         \
      ::kvorum::WriteLog(level, __FILE__, __LINE__, message, {__VA_ARGS__}); \
  } while (false)
#define KV_DEBUG(message, ...) KV_LOG(::kvorum::LogLevel::kDebug, message, __VA_ARGS__)
#define KV_INFO(message, ...) KV_LOG(::kvorum::LogLevel::kInfo, message, __VA_ARGS__)
#define KV_WARN(message, ...) KV_LOG(::kvorum::LogLevel::kWarn, message, __VA_ARGS__)
#define KV_ERROR(message, ...) KV_LOG(::kvorum::LogLevel::kError, message, __VA_ARGS__)
