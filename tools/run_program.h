// Runs a program with the command's output and error streams, also for an event of a watch.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

namespace mvccpb {
class Event;
}

namespace kvorum::ctl {

struct ProgramEnd {
  int code = 0;             // in the shell's form: 255 if a signal ended it
  std::string reason = {};  // empty: success; else Go's text, "exit status 3"
};

// Waits for its end. Its standard input is empty, its environment is exactly `environment`, and it
// can be interrupted like any other. The error says why it could not be run.
std::expected<ProgramEnd, std::string> RunProgram(std::span<const std::string> command,
                                                  std::span<const std::string> environment);

// Runs it with ETCD_WATCH_REVISION, _EVENT_TYPE, _KEY and _VALUE in the environment, the latter
// three quoted as Go does. The error says why it could not run, or how it ended.
std::expected<void, std::string> RunForEvent(std::span<const std::string> command,
                                             std::vector<std::string> environment,
                                             std::int64_t revision, const mvccpb::Event& event);

}  // namespace kvorum::ctl
