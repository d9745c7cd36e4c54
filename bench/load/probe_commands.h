// The commands of kvorum-bench that need no server: the machine's own times, which those of a
// server are measured by.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "bench/load/echo_probe.h"
#include "bench/load/memory_probe.h"
#include "bench/load/sync_probe.h"

namespace CLI {
class App;
}  // namespace CLI

namespace kvorum::bench {

// Lives as long as the app, which writes into it.
class ProbeCommands {
 public:
  explicit ProbeCommands(CLI::App& app);
  ProbeCommands(const ProbeCommands&) = delete;
  ProbeCommands& operator=(const ProbeCommands&) = delete;

  // A line with what the chosen probe found; nothing when none was chosen.
  std::optional<Result<std::string>> Run(bool json) const;

 private:
  CLI::App* sync_;
  SyncProbeOptions sync_options_;
  CLI::App* echo_;
  EchoProbeOptions echo_options_;
  CLI::App* memory_;
  MemoryProbeOptions memory_options_;
};

}  // namespace kvorum::bench
