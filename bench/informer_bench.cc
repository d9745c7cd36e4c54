// The informer over a store that costs nothing: from a batch of the watch to the last handler's
// return, with as many listeners, each on its own thread.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/executor.h"
#include "sync/informer/informer.h"
#include "tests/sync/informer/generated_store.h"

namespace kvorum::sync {
namespace {

constexpr std::int64_t kObjects = 100'000;
constexpr std::size_t kObjectValueBytes = 100;
using Copy = Informer<BytesCodec>;

Copy::Options Options() {
  Copy::Options options;
  options.source.prefix = "/a/";
  return options;
}

void WaitFor(const std::atomic<std::int64_t>& count, std::int64_t value) {
  for (std::int64_t seen = count; seen < value; seen = count) count.wait(seen);
}

void EventsThroughListeners(benchmark::State& state) {
  constexpr std::int64_t kBurst = 1000;
  GeneratedStore store(kObjects, kObjectValueBytes);
  ThreadExecutor executor("informer");
  Copy informer(store, executor, Options());
  std::atomic<std::int64_t> synced = 0;
  std::atomic<std::int64_t> told = 0;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const auto handle = informer.AddListener({.capacity = 2 * kBurst,
                                              .on_synced =
                                                  [&] {
                                                    ++synced;
                                                    synced.notify_one();
                                                  }},
                                             {.on_update = [&](const auto&, const auto&) {
                                               if (++told % kBurst == 0) told.notify_one();
                                             }});
    if (!handle) return state.SkipWithError("no listener");
  }
  if (!informer.Run()) return state.SkipWithError("no run");
  WaitFor(synced, state.range(0));
  store.WaitForWatch();
  std::int64_t next = 0;
  std::int64_t expected = 0;
  for (auto _ : state) {
    for (std::int64_t i = 0; i < kBurst; ++i) store.Push(next++ * 7919 % kObjects);
    expected += kBurst * state.range(0);
    WaitFor(told, expected);
  }
  informer.Stop();
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kBurst);
}
BENCHMARK(EventsThroughListeners)->Arg(1)->Arg(10)->Arg(100)->UseRealTime();

void FirstList(benchmark::State& state) {
  GeneratedStore store(kObjects, kObjectValueBytes);
  double bytes = 0;
  for (auto _ : state) {
    const std::size_t before = mallinfo2().uordblks;
    ThreadExecutor executor("informer");
    Copy informer(store, executor, Options());
    std::atomic<std::int64_t> synced = 0;
    const auto handle = informer.AddListener({.on_synced =
                                                  [&] {
                                                    ++synced;
                                                    synced.notify_one();
                                                  }},
                                             {});
    if (!handle || !informer.Run()) return state.SkipWithError("no run");
    WaitFor(synced, 1);
    bytes = static_cast<double>(mallinfo2().uordblks - before);
    informer.Stop();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kObjects);
  state.counters["bytes_an_object"] = bytes / kObjects;
}
BENCHMARK(FirstList)->UseRealTime()->Unit(benchmark::kMillisecond);

void Gets(benchmark::State& state) {
  GeneratedStore store(kObjects, kObjectValueBytes);
  ThreadExecutor executor("informer");
  Copy informer(store, executor, Options());
  std::atomic<std::int64_t> synced = 0;
  const auto handle = informer.AddListener({.on_synced =
                                                [&] {
                                                  ++synced;
                                                  synced.notify_one();
                                                }},
                                           {});
  if (!handle || !informer.Run()) return state.SkipWithError("no run");
  WaitFor(synced, 1);
  std::vector<std::string> keys;
  for (std::int64_t i = 0; i < 1000; ++i) keys.push_back(GeneratedStore::Key(i * 7919 % kObjects));
  std::size_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(informer.Get(keys[next++ % keys.size()]));
  informer.Stop();
}
BENCHMARK(Gets);

}  // namespace
}  // namespace kvorum::sync
