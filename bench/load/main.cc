// kvorum-bench: measures a server of the v3 API under a closed loop of calls, or the machine under
// it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>

#include "bench/load/load.h"
#include "bench/load/probe_commands.h"
#include "bench/load/report_text.h"

namespace kvorum::bench {
namespace {

void PrintLoadReport(const LoadReport& report, bool json) {
  const auto calls = static_cast<double>(std::max<std::uint64_t>(report.latency.count(), 1));
  const double server_us = Micros(report.server_cpu_nanos) / calls;
  const double client_us = Micros(report.client_cpu_nanos) / calls;
  const double answer_bytes = static_cast<double>(report.answer_bytes) / calls;
  if (json) {
    fmt::print(
        R"({{"calls":{},"failures":{},"first_failure":{},"seconds":{:.9f},"per_second":{:.1f},)"
        R"({},"server_cpu_us":{:.2f},"client_cpu_us":{:.2f},"answer_bytes":{:.1f},)"
        R"("server_rss_bytes":{},"server_rss_anon_bytes":{}}})"
        "\n",
        report.latency.count(), report.failures, JsonText(report.first_failure),
        static_cast<double>(report.elapsed_nanos) * 1e-9, report.CallsPerSecond(),
        LatencyJson(report.latency), server_us, client_us, answer_bytes, report.server.rss_bytes,
        report.server.rss_anon_bytes);
    return;
  }
  fmt::print("{:.0f} calls/s, {}\n", report.CallsPerSecond(), LatencyText(report.latency));
  fmt::print("CPU per call: client {:.2f} us", client_us);
  if (report.server.rss_bytes != 0) {
    fmt::print(", server {:.2f} us; server memory: RSS {} MiB, anonymous {} MiB", server_us,
               report.server.rss_bytes >> 20, report.server.rss_anon_bytes >> 20);
  }
  fmt::print("; {:.0f} bytes an answer\n", answer_bytes);
  if (report.failures != 0) {
    fmt::print("{} calls FAILED, the first with: {}\n", report.failures, report.first_failure);
  }
}

int Complain(const Error& error) {
  fmt::print(stderr, "kvorum-bench: {}\n", error.message);
  return 1;
}

int RunAndPrint(const LoadOptions& options, bool json) {
  const Result<LoadReport> report = RunLoad(options);
  if (!report.has_value()) return Complain(report.error());
  PrintLoadReport(*report, json);
  return report->failures == 0 ? 0 : 1;
}

// Puts the keys that the measured calls use: each once, in order.
int Preload(LoadOptions options, std::uint64_t keys) {
  options.shape.operation = Operation::kPut;
  options.order = KeyOrder::kSequential;
  options.key_space = keys;
  options.count = keys;
  const Result<LoadReport> report = RunLoad(options);
  if (!report.has_value()) return Complain(report.error());
  if (report->failures != 0) return Complain({Code::kUnknown, report->first_failure});
  fmt::print(stderr, "preloaded {} keys, {:.0f} a second\n", keys, report->CallsPerSecond());
  return 0;
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a server that ends is an error of its connections
  CLI::App app("Measures a server of the v3 API under a closed loop of calls");
  app.require_subcommand(1);
  app.fallthrough();
  LoadOptions options;
  bool json = false;
  bool sequential = false;
  std::uint64_t preload = 0;
  app.add_flag("--json", json, "one JSON object instead of text");
  app.add_option("--endpoint", options.endpoints,
                 "host:port, or several with commas: connections go to each in turn")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--pid", options.server_pids,
                 "process ids of the servers: report their CPU and memory, summed up")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--connections", options.connections)
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--streams", options.streams, "calls in flight on each connection")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app.add_option("--keys", options.key_space, "how many keys there are")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--first-key", options.first_key, "their first number")->capture_default_str();
  app.add_option("--key-size", options.shape.key_size)
      ->capture_default_str()
      ->check(CLI::Range(kMinKeySize, std::size_t{4096}));
  app.add_option("--value-size", options.shape.value_size)->capture_default_str();
  app.add_flag("--sequential", sequential, "keys in their order, not at random");
  app.add_option("--seconds", options.seconds)->capture_default_str();
  app.add_option("--warmup", options.warmup_seconds, "seconds")->capture_default_str();
  app.add_option("--count", options.count, "so many calls, instead of --seconds and --warmup");
  app.add_option("--put-part", options.put_part, "so much of the calls are puts, at random")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--rate", options.rate, "calls a second, at most; 0: as fast as they go")
      ->capture_default_str();
  app.add_option("--token", options.token, "that calls show: whose name they are made in");
  CLI::Option* authority =
      app.add_option("--cacert", options.tls.authority, "PEM file of the authorities: TLS");
  CLI::Option* certificate =
      app.add_option("--cert", options.tls.certificate, "PEM file of the client's certificate")
          ->needs(authority);
  certificate->needs(
      app.add_option("--key", options.tls.key, "PEM file of its key")->needs(certificate));
  app.add_option("--preload", preload, "put so many keys first, each once");
  app.add_option("--seed", options.seed)->capture_default_str();

  CLI::App* put = app.add_subcommand("put", "Put");
  CLI::App* range = app.add_subcommand("range", "Range of one key");
  range->add_flag("--serializable", options.shape.serializable);
  CLI::App* page = app.add_subcommand("page", "Range from a random key to the end, with a limit");
  page->add_flag("--serializable", options.shape.serializable);
  options.shape.page_limit = 1000;
  page->add_option("--limit", options.shape.page_limit)->capture_default_str();
  CLI::App* txn = app.add_subcommand("txn", "Txn of one compare and one put");
  CLI::App* leased_put = app.add_subcommand("leased-put", "Put with the lease of the key's number");
  CLI::App* grant = app.add_subcommand("lease-grant", "LeaseGrant with chosen ids");
  grant->add_option("--ttl", options.shape.ttl_s, "seconds")->capture_default_str();
  CLI::App* keep_alive =
      app.add_subcommand("lease-keep-alive", "LeaseKeepAlive, each on a stream of its own");
  CLI::App* login = app.add_subcommand("login", "Authenticate, of a user that there is not");
  CLI::App* snapshot = app.add_subcommand(
      "snapshot", "Snapshot, which nobody keeps (few --connections, one of the --streams)");
  ProbeCommands probes(app);
  CLI11_PARSE(app, argc, argv);

  if (const auto probe = probes.Run(json); probe.has_value()) {
    if (!probe->has_value()) return Complain(probe->error());
    fmt::print("{}\n", **probe);
    return 0;
  }
  if (put->parsed()) options.shape.operation = Operation::kPut;
  if (range->parsed()) options.shape.operation = Operation::kRange;
  if (page->parsed()) options.shape.operation = Operation::kPage;
  if (txn->parsed()) options.shape.operation = Operation::kTxn;
  if (leased_put->parsed()) options.shape.operation = Operation::kLeasedPut;
  if (grant->parsed()) options.shape.operation = Operation::kLeaseGrant;
  if (keep_alive->parsed()) options.shape.operation = Operation::kLeaseKeepAlive;
  if (login->parsed()) options.shape.operation = Operation::kLogin;
  if (snapshot->parsed()) options.shape.operation = Operation::kSnapshot;
  options.order = sequential ? KeyOrder::kSequential : KeyOrder::kRandom;
  if (preload != 0) {
    if (const int status = Preload(options, preload); status != 0) return status;
  }
  return RunAndPrint(options, json);
}

}  // namespace
}  // namespace kvorum::bench

int main(int argc, char** argv) { return kvorum::bench::Main(argc, argv); }
