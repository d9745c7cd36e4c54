// A log line's cost for the thread that logs it, and for the process: the lines go to /dev/null, in
// bursts that the queue has room for.
#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdint>

#include "base/log/logging.h"

namespace kvorum {
namespace {

std::int64_t ProcessNanos() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

void ALineThatIsFormatted(benchmark::State& state) {
  std::int64_t index = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(FormatLogLine(true, LogLevel::kInfo, 1'136'214'245'123'456'789,
                                           __FILE__, __LINE__, "applied a snapshot",
                                           {{"index", ++index}, {"from", "8e9e05c52164694d"}}));
  }
}
BENCHMARK(ALineThatIsFormatted);

void ALineThatIsLogged(benchmark::State& state) {
  constexpr int kBurst = 1000;
  if (!InitLogging({.outputs = {"/dev/null"}})) return state.SkipWithError("no /dev/null");
  const std::uint64_t dropped = DroppedLogLines();
  const std::int64_t before = ProcessNanos();
  std::int64_t index = 0;
  for (auto _ : state) {
    KV_INFO("applied a snapshot", {"index", ++index}, {"from", "8e9e05c52164694d"});
    if (index % kBurst == 0) {
      state.PauseTiming();
      FlushLog();
      state.ResumeTiming();
    }
  }
  state.counters["process_ns"] =
      benchmark::Counter(static_cast<double>(ProcessNanos() - before) / static_cast<double>(index));
  state.counters["dropped"] = benchmark::Counter(static_cast<double>(DroppedLogLines() - dropped));
}
BENCHMARK(ALineThatIsLogged);

}  // namespace
}  // namespace kvorum
