// A destination of log lines: a standard stream, a file, a file that is rotated, or the journal.
//
// Used by one thread at a time. A write blocks until its reader has room.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum {

struct LogRotation;

class LogOutput {
 public:
  LogOutput() = default;
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;
  virtual ~LogOutput() = default;

  // "stderr", "default" (stderr too), "stdout", "systemd/journal", or the path of a file, which is
  // appended to, and rotated unless `rotation` is null; the file and its directories are created if
  // missing.
  static Result<std::unique_ptr<LogOutput>> Open(const std::string& name,
                                                 const LogRotation* rotation = nullptr);

  // Takes whole lines. Output that cannot be written is lost: a full disk or a closed pipe must not
  // stop the server, and there is no other place to report it.
  virtual void Write(std::string_view lines) = 0;
};

// Writes everything, in several calls if need be; false if the descriptor takes no more.
bool WriteAll(int descriptor, std::string_view text);

}  // namespace kvorum
