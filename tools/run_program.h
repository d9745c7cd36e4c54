// Runs a program beside the command, on its output and error stream.
#pragma once

#include <expected>
#include <span>
#include <string>

namespace kvorum::ctl {

struct ProgramEnd {
  int code = 0;             // as the shell would want to hear it: 255 if a signal ended it
  std::string reason = {};  // empty: it ended well; else as Go tells it, "exit status 3"
};

// Waits for its end. Its standard input is empty, its environment is `environment` alone, and it is
// interrupted like any other. The error says why it could not be run.
std::expected<ProgramEnd, std::string> RunProgram(std::span<const std::string> command,
                                                  std::span<const std::string> environment);

}  // namespace kvorum::ctl
