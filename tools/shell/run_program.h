// Runs a program with the command's output and error streams, also for an event of a watch.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace mvccpb {
class Event;
}

namespace kvorum::ctl {

struct ProgramEnd {
  int code = 0;             // in the shell's form: 255 if a signal ended it
  std::string reason = {};  // empty: success; else Go's text, "exit status 3"
};

struct ProgramOptions {
  std::string_view input = {};   // its standard input, which it need not read
  bool output_to_error = false;  // its standard output goes to the error stream
  // If it can stop, the program has its own process group, which is then sent SIGTERM, and
  // five seconds later SIGKILL.
  std::stop_token stop = {};
};

// Waits for its end. Its environment is exactly `environment`, and it can be interrupted like any
// other. The error says why it could not be run.
std::expected<ProgramEnd, std::string> RunProgram(std::span<const std::string> command,
                                                  std::span<const std::string> environment,
                                                  const ProgramOptions& options = {});

// The environment without the passwords that kvorumctl reads from it: for programs that run by
// themselves, and have no need to speak to the store as we do.
std::vector<std::string> WithoutSecrets(std::vector<std::string> environment);

// Runs it with ETCD_WATCH_REVISION, _EVENT_TYPE, _KEY and _VALUE in the environment, the latter
// three quoted as Go does. The error says why it could not run, or how it ended.
std::expected<void, std::string> RunForEvent(std::span<const std::string> command,
                                             std::vector<std::string> environment,
                                             std::int64_t revision, const mvccpb::Event& event);

}  // namespace kvorum::ctl
