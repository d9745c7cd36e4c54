// kvorum-watch-bench: the cost of watchers for a server of the v3 API while it is written to.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "bench/load/watch_load.h"

namespace kvorum::bench {
namespace {

double Millis(std::uint64_t nanos) { return static_cast<double>(nanos) * 1e-6; }

void PrintWatchReport(const WatchLoadOptions& options, const WatchLoadReport& report) {
  const double seconds = static_cast<double>(report.elapsed_nanos) * 1e-9;
  const auto events = static_cast<double>(std::max<std::uint64_t>(report.events, 1));
  const auto watchers =
      static_cast<double>(std::max<std::size_t>(options.streams * options.watchers_per_stream, 1));
  fmt::print(
      R"({{"puts_per_second":{:.0f},"events_per_second":{:.0f},"events_per_message":{:.1f},)"
      R"("server_cpu_us_per_event":{:.3f},"client_cpu_us_per_event":{:.3f},)"
      R"("event_p50_ms":{:.2f},"event_p99_ms":{:.2f},"put_p50_ms":{:.2f},"put_p99_ms":{:.2f},)"
      R"("server_cpu_seconds":{:.2f},"seconds":{:.2f},"bytes_per_watcher":{:.0f}}})"
      "\n",
      static_cast<double>(report.puts) / seconds, static_cast<double>(report.events) / seconds,
      events / static_cast<double>(std::max<std::uint64_t>(report.messages, 1)),
      static_cast<double>(report.server_cpu_nanos) * 1e-3 / events,
      static_cast<double>(report.client_cpu_nanos) * 1e-3 / events,
      Millis(report.latency.Quantile(0.5)), Millis(report.latency.Quantile(0.99)),
      Millis(report.put_latency.Quantile(0.5)), Millis(report.put_latency.Quantile(0.99)),
      static_cast<double>(report.server_cpu_nanos) * 1e-9, seconds,
      (static_cast<double>(report.with_watchers_bytes) - static_cast<double>(report.before_bytes)) /
          watchers);
}

int WatchMain(int argc, char** argv) {
  CLI::App app("What watchers cost a server while it is written to.");
  WatchLoadOptions options;
  app.add_option("--endpoint", options.endpoint, "host:port")->capture_default_str();
  app.add_option("--connections", options.connections)->capture_default_str();
  app.add_option("--streams", options.streams, "over all connections")->capture_default_str();
  app.add_option("--watchers", options.watchers_per_stream, "of each stream")
      ->capture_default_str();
  app.add_flag("--own-keys", options.own_keys, "each watcher a key of its own, not all one prefix");
  app.add_flag("--idle", options.idle, "watch what is never put");
  app.add_option("--key-size", options.key_size)->capture_default_str();
  app.add_option("--value-size", options.value_size)->capture_default_str();
  app.add_option("--key-space", options.key_space)->capture_default_str();
  app.add_option("--rate", options.puts_per_second, "puts a second; 0: as many as go")
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight)->capture_default_str();
  app.add_option("--warmup", options.warmup_seconds)->capture_default_str();
  app.add_option("--seconds", options.seconds)->capture_default_str();
  app.add_option("--pid", options.server_pid, "the server's, for its CPU and memory");
  CLI11_PARSE(app, argc, argv);
  const auto report = RunWatchLoad(options);
  if (!report.has_value()) {
    fmt::print(stderr, "kvorum-watch-bench: {}\n", report.error().message);
    return 1;
  }
  PrintWatchReport(options, *report);
  return 0;
}

}  // namespace
}  // namespace kvorum::bench

int main(int argc, char** argv) { return kvorum::bench::WatchMain(argc, argv); }
