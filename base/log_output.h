// A destination of log lines: a standard stream or a file.
//
// Used by one thread at a time. A write blocks until its reader has room.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace kvorum {

class LogOutput {
 public:
  // "stderr", "default" (stderr too), "stdout", or the path of a file, which is appended to; the
  // file and its directories are created if missing.
  static Result<LogOutput> Open(const std::string& name);

  LogOutput(LogOutput&& other) noexcept
      : descriptor_(other.descriptor_), is_ours_(std::exchange(other.is_ours_, false)) {}
  LogOutput& operator=(LogOutput&&) = delete;
  ~LogOutput();

  // Output that cannot be written is lost: a full disk or a closed pipe under the log is no reason
  // to stop serving, and there is no other place to report it.
  void Write(std::string_view text) const;

 private:
  LogOutput(int descriptor, bool is_ours) : descriptor_(descriptor), is_ours_(is_ours) {}

  int descriptor_;
  bool is_ours_;
};

}  // namespace kvorum
