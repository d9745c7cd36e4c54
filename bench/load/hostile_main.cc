// kvorum-hostile: connections that misbehave, held open until its input ends (bench/hostile.py).
// Prints "open" when all are, and a report at the end.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "bench/load/hostile_load.h"

namespace kvorum::bench {
namespace {

// A connection is a descriptor.
void RaiseDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int HostileMain(int argc, char** argv) {
  CLI::App app("Holds connections that misbehave until its standard input ends.");
  HostileOptions options;
  std::string kinds;
  double burn = 0;
  app.add_option("--endpoint", options.endpoint, "host:port");
  app.add_option("--kinds", kinds, "a file: how they misbehave, a kind a line");
  app.add_option("--connections", options.connections)->capture_default_str();
  app.add_option("--open-rate", options.opened_per_second, "a second")->capture_default_str();
  app.add_option("--reopen-rate", options.reopened_per_second, "a second, of those that were ended")
      ->capture_default_str();
  app.add_option("--trickle-seconds", options.trickle_seconds, "between two bytes of one")
      ->capture_default_str();
  app.add_option("--burn", burn, "opens nothing, burns this share of a processor instead");
  CLI11_PARSE(app, argc, argv);
  RaiseDescriptorLimit();
  Result<HostileReport> report = HostileReport{};
  if (burn > 0) {
    report = RunBurner(burn, STDIN_FILENO);
  } else {
    std::ifstream lines(kinds);
    auto parsed = ParseHostileKinds(lines);
    if (parsed.has_value()) {
      options.kinds = *std::move(parsed);
      report = RunHostile(options, STDIN_FILENO, [] {
        fmt::print("open\n");
        std::fflush(stdout);
      });
    } else {
      report = std::unexpected(parsed.error());
    }
  }
  if (!report.has_value()) {
    fmt::print(stderr, "kvorum-hostile: {}\n", report.error().message);
    return 1;
  }
  fmt::print(R"({{"opened":{},"ended":{},"cpu_seconds":{:.3f}}})"
             "\n",
             report->opened, report->ended, static_cast<double>(report->cpu_nanos) * 1e-9);
  return 0;
}

}  // namespace
}  // namespace kvorum::bench

int main(int argc, char** argv) { return kvorum::bench::HostileMain(argc, argv); }
