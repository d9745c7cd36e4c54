#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "api/version.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "server/process/bootstrap/find_cluster.h"
#include "server/process/machine/freed_memory.h"
#include "server/process/machine/memory_lock.h"
#include "server/process/process/config_check.h"
#include "server/process/process/process.h"
#include "server/process/process/startup_log.h"
#include "server/process/settings/flag_docs.h"
#include "server/process/settings/log_settings.h"
#include "server/process/settings/options.h"
#include "server/process/settings/part_options.h"

namespace kvorum::server {
namespace {

// The signal by which the process tells its main thread that it must end.
constexpr int kEndedByItself = SIGUSR1;

LogLevel LevelOf(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warn") return LogLevel::kWarn;
  if (name == "error") return LogLevel::kError;
  if (name == "panic") return LogLevel::kPanic;
  if (name == "fatal") return LogLevel::kFatal;
  return LogLevel::kInfo;
}

// Threads inherit the mask: only the main thread takes these signals, by waiting for them.
sigset_t BlockSignals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, kEndedByItself);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return ends;
}

// A page of the database that cannot be read raises SIGBUS: report it, since nothing else will.
void ReportBusError(int) {
  constexpr char kText[] =
      "kvorum: SIGBUS: a page of the database file could not be read (disk error, or the file was "
      "truncated)\n";
  static_cast<void>(!write(STDERR_FILENO, kText, sizeof(kText) - 1));
  signal(SIGBUS, SIG_DFL);
  raise(SIGBUS);
}

int Refuse(const Error& error) {
  KV_LOG(LogLevel::kFatal, "failed to start", {"error", error.message});
  FlushLog();
  return 1;
}

Result<void> StartLogging(const Options& options) {
  const LogOptions log{.level = LevelOf(options.log_level),
                       .json = options.log_format == "json",
                       .outputs = options.log_outputs};
  if (!options.log_rotation) return InitLogging(log);
  KV_TRY(const LogRotation rotation, ParseLogRotation(options.log_rotation_rules));
  return InitLogging(log, rotation);
}

int Run(const ParsedCommandLine& command_line) {
  Options options = command_line.options;
  const sigset_t ends = BlockSignals();
  signal(SIGBUS, ReportBusError);
  BoundHeapEnds();
  if (const auto logging = StartLogging(options); !logging.has_value()) {
    std::fprintf(stderr, "kvorum: cannot log: %s\n", logging.error().message.c_str());
    return 1;
  }
  if (const auto points = failpoint::StartFromEnvironment(); !points.has_value()) {
    return Refuse(points.error());
  }
  if (!command_line.config_file.empty()) {
    KV_INFO(
        "loaded server configuration, other configuration command line flags and environment "
        "variables will be ignored if provided",
        {"path", command_line.config_file});
  }
  for (const std::string& warning : command_line.warnings) KV_WARN(warning);
  LogStartup(options);
  if (options.unsafe_no_fsync) KV_WARN("--unsafe-no-fsync: a power cut loses acknowledged writes");

  if (options.memory_mlock) {
    if (const auto locked = LockMemory(); !locked.has_value()) return Refuse(locked.error());
  }

  // The search may take as long as other members take to start: a signal ends it at once.
  pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  const auto found = FindCluster(options);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  if (!found.has_value()) return Refuse(found.error());
  options.peer_near_address = NearAddress(options);
  auto process = Process::Create(options);
  if (!process.has_value()) return Refuse(process.error());
  (*process)->Start([] { kill(getpid(), kEndedByItself); });

  int signal_number = 0;
  sigwait(&ends, &signal_number);
  if (signal_number != kEndedByItself)
    KV_INFO("received signal; shutting down", {"signal", strsignal(signal_number)});
  pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);  // a second one ends the process at once
  (*process)->Stop();
  process->reset();
  FlushLog();
  return 0;
}

}  // namespace
}  // namespace kvorum::server

int main(int argc, char** argv) {
  using namespace kvorum::server;
  std::vector<const char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  const Reading reading = ReadSettings(
      std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc - 1)), environment);
  if (reading.parsed.outcome == ParseOutcome::kCheck) {
    SetLogLevel(kvorum::LogLevel::kWarn);  // the report says the rest
    const CheckReport report = CheckSettings(reading);
    std::fputs(report.text.c_str(), stdout);
    return report.exit_code;
  }
  if (!reading.faults.empty()) {
    const UsageError& fault = reading.faults.front();
    std::fprintf(stderr, "%s\n", fault.message.c_str());
    if (fault.exit_code == 2) std::fprintf(stderr, "Run 'kvorum --help' for usage.\n");
    return fault.exit_code;
  }
  switch (reading.parsed.outcome) {
    case ParseOutcome::kVersion:
      std::fputs(VersionText().c_str(), stdout);
      return 0;
    case ParseOutcome::kSample:
      std::fputs(ConfigSample().c_str(), stdout);
      return 0;
    case ParseOutcome::kHelp:
      std::fputs(HelpText().c_str(), stdout);
      return 0;
    case ParseOutcome::kCheck:
    case ParseOutcome::kRun:
      return Run(reading.parsed);
  }
  return 2;
}
