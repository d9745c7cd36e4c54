#include "bench/load/probe_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "bench/load/report_text.h"

namespace kvorum::bench {
namespace {

Result<std::string> Line(const Result<Histogram>& latency, bool json) {
  if (!latency.has_value()) return Fail(latency.error());
  return json ? fmt::format("{{{}}}", LatencyJson(*latency)) : LatencyText(*latency);
}

}  // namespace

ProbeCommands::ProbeCommands(CLI::App& app)
    : sync_(app.add_subcommand("sync", "no server: append and fdatasync in a folder")),
      echo_(app.add_subcommand("echo", "no server: round trips of TCP over loopback")),
      memory_(app.add_subcommand("memory", "no server: loads that depend on each other")) {
  sync_->add_option("--dir", sync_options_.dir)->capture_default_str();
  sync_->add_option("--size", sync_options_.size_bytes)->capture_default_str();
  sync_->add_option("--appends", sync_options_.count)->capture_default_str();
  static const std::map<std::string, ProbeSpace> kSpaces = {{"none", ProbeSpace::kNone},
                                                            {"reserved", ProbeSpace::kReserved},
                                                            {"zeroed", ProbeSpace::kZeroed}};
  sync_->add_option("--space", sync_options_.space, "the file's before the first append")
      ->transform(CLI::CheckedTransformer(kSpaces));

  echo_->add_option("--size", echo_options_.size_bytes)
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  echo_->add_option("--round-trips", echo_options_.count)->capture_default_str();

  memory_->add_option("--mib", memory_options_.size_mib)
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 16));
  memory_->add_option("--loads", memory_options_.loads)->capture_default_str();
}

std::optional<Result<std::string>> ProbeCommands::Run(bool json) const {
  if (sync_->parsed()) return Line(RunSyncProbe(sync_options_), json);
  if (echo_->parsed()) return Line(RunEchoProbe(echo_options_), json);
  if (memory_->parsed()) {
    const double nanos = RunMemoryProbe(memory_options_);
    return json ? fmt::format(R"({{"ns_per_load":{:.1f}}})", nanos)
                : fmt::format("{:.1f} ns a load", nanos);
  }
  return std::nullopt;
}

}  // namespace kvorum::bench
