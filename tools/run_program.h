// Runs a program with the command's output and error streams.
#pragma once

#include <expected>
#include <span>
#include <string>

namespace kvorum::ctl {

struct ProgramEnd {
  int code = 0;             // in the shell's form: 255 if a signal ended it
  std::string reason = {};  // empty: success; else Go's text, "exit status 3"
};

// Waits for its end. Its standard input is empty, its environment is exactly `environment`, and it
// can be interrupted like any other. The error says why it could not be run.
std::expected<ProgramEnd, std::string> RunProgram(std::span<const std::string> command,
                                                  std::span<const std::string> environment);

}  // namespace kvorum::ctl
