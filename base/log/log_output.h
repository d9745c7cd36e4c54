// A destination of log lines, as a sink of spdlog: a standard stream, a file, a file that is
// rotated, or the journal. A message's payload is a whole line, without its newline; flush writes
// what came since the last one.
//
// Used by one thread at a time. A flush blocks until the reader has room.
#pragma once

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum {

struct LogRotation;

class LogOutput : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // "stderr", "default" (stderr too), "stdout", "systemd/journal", or the path of a file, which is
  // appended to, and rotated unless `rotation` is null; the file and its directories are created if
  // missing.
  static Result<std::unique_ptr<LogOutput>> Open(const std::string& name,
                                                 const LogRotation* rotation = nullptr);

  // Takes whole lines. Output that cannot be written is lost: a full disk or a closed pipe must not
  // stop the server, and there is no other place to report it.
  virtual void Write(std::string_view lines) = 0;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override;

 private:
  std::string lines_;
};

// Writes everything, in several calls if need be; false if the descriptor takes no more.
bool WriteAll(int descriptor, std::string_view text);

}  // namespace kvorum
