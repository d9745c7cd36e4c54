// The store over LMDB with 1,000,000 keys of 32 bytes and values of 256: the cost of a write for
// the apply thread, of a read for an I/O thread, and of the index for a start. Commits run between
// the iterations, not in them.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/log/logging.h"
#include "base/rng.h"
#include "mvcc/store/restore.h"
#include "mvcc/store/store.h"
#include "tests/manual_clock.h"

namespace kvorum::mvcc {
namespace {

constexpr std::int64_t kStoredKeys = 1'000'000;
constexpr std::size_t kValueBytes = 256;

// Runs posted tasks on request; time stands still, so no timed task is ever due.
class QueueExecutor final : public Executor {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  void PostAt(TimePoint, Task) override {}
  const Clock& clock() const override { return clock_; }
  void Run() {
    while (!tasks_.empty()) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }

 private:
  ManualClock clock_;
  std::deque<Task> tasks_;
};

std::string PodKey(std::int64_t i) {
  char text[33];
  std::snprintf(text, sizeof(text), "/registry/pods/default/%09lld", static_cast<long long>(i));
  return text;
}

class World {
 public:
  World() {
    SetLogLevel(LogLevel::kError);
    std::string folder = (std::filesystem::temp_directory_path() / "kvorum-bench-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) std::abort();
    folder_ = folder;
    LmdbOptions lmdb;
    lmdb.path = (folder_ / "db").string();
    lmdb.map_size_bytes = std::uint64_t{16} << 30;
    auto backend = OpenLmdbBackend(lmdb);
    if (!backend) std::abort();
    this->backend = backend->get();
    StoreOptions options;
    options.commit.on_fatal = [](const Error&) { std::abort(); };
    store = std::move(*Store::Open(options, *std::move(backend),
                                   {.apply = executor, .backend = executor, .copier = executor}));
    Fill();
  }
  ~World() {
    store.reset();
    std::filesystem::remove_all(folder_);
  }

  void Publish() { store->Publish(++index_, 1); }
  void Commit() {
    store->Flush([] {});
    executor.Run();
  }

  QueueExecutor executor;
  std::unique_ptr<Store> store;
  Backend* backend = nullptr;
  const std::string value = std::string(kValueBytes, 'v');

 private:
  void Fill() {
    for (std::int64_t i = 0; i < kStoredKeys; ++i) {
      {
        WriteTxn txn = store->Begin();
        const std::string key = PodKey(i * 7919 % kStoredKeys);
        if (!txn.Put({.key = key, .value = value})) std::abort();
      }
      if (i % 100 == 99) Publish();
      if (i % 10'000 == 9'999) Commit();
    }
  }

  std::filesystem::path folder_;
  std::uint64_t index_ = 0;
};

World& TheWorld() {
  static World world;
  return world;
}

// Like a service: every row is copied once, into the answer.
class AnswerSink final : public RowSink {
 public:
  Result<void> Add(const Row& row) override {
    const std::size_t begin = answer_.size();
    answer_.resize(begin + row.EncodedSize());
    row.EncodeTo(answer_.data() + begin);
    return {};
  }
  void Clear() { answer_.clear(); }

 private:
  std::string answer_;
};

template <class Entry>
void RunEntries(benchmark::State& state, Entry entry) {
  World& world = TheWorld();
  Rng rng(1);
  const std::int64_t batch = state.range(0);
  std::int64_t entries = 0;
  for (auto _ : state) {
    WriteTxn txn = world.store->Begin();
    entry(txn, rng);
    txn.End();
    if (++entries % batch == 0) world.Publish();
    if (entries % 20'000 == 0) {
      state.PauseTiming();
      world.Publish();
      world.Commit();
      state.ResumeTiming();
    }
  }
  world.Publish();
  world.Commit();
  state.SetItemsProcessed(entries);
}

void BM_PutExisting(benchmark::State& state) {
  RunEntries(state, [](WriteTxn& txn, Rng& rng) {
    const std::string key = PodKey(static_cast<std::int64_t>(rng.Below(kStoredKeys)));
    benchmark::DoNotOptimize(txn.Put({.key = key, .value = TheWorld().value}));
  });
}
BENCHMARK(BM_PutExisting)->Arg(1)->Arg(64);

void BM_PutWithPrevKv(benchmark::State& state) {
  RunEntries(state, [](WriteTxn& txn, Rng& rng) {
    const std::string key = PodKey(static_cast<std::int64_t>(rng.Below(kStoredKeys)));
    benchmark::DoNotOptimize(txn.Put({.key = key, .value = TheWorld().value, .prev_kv = true}));
  });
}
BENCHMARK(BM_PutWithPrevKv)->Arg(64);

// A compare-and-swap: version > 0, then put, else get.
void BM_Txn(benchmark::State& state) {
  RunEntries(state, [](WriteTxn& txn, Rng& rng) {
    const std::string key = PodKey(static_cast<std::int64_t>(rng.Below(kStoredKeys)));
    TxnRequest request;
    Compare compare;
    compare.result = CompareResult::kGreater;
    compare.key = key;
    request.compare.push_back(compare);
    request.success.emplace_back(PutRequest{.key = key, .value = TheWorld().value});
    request.failure.emplace_back(RangeRequest{.key = key, .range_end = {}});
    benchmark::DoNotOptimize(txn.ExecuteTxn(request));
  });
}
BENCHMARK(BM_Txn)->Arg(64);

void BM_View(benchmark::State& state) {
  World& world = TheWorld();
  for (auto _ : state) benchmark::DoNotOptimize(world.store->Read());
}
BENCHMARK(BM_View);

void BM_RangePoint(benchmark::State& state) {
  World& world = TheWorld();
  Rng rng(2);
  AnswerSink sink;
  for (auto _ : state) {
    const std::string key = PodKey(static_cast<std::int64_t>(rng.Below(kStoredKeys)));
    Result<ReadView> view = world.store->Read();
    benchmark::DoNotOptimize(view->Range({.key = key, .range_end = {}}, sink));
    sink.Clear();
  }
}
BENCHMARK(BM_RangePoint);

template <class Change>
void RunPages(benchmark::State& state, Change change) {
  World& world = TheWorld();
  Rng rng(3);
  AnswerSink sink;
  static constexpr std::string_view kEnd("\0", 1);
  for (auto _ : state) {
    const std::string key = PodKey(static_cast<std::int64_t>(rng.Below(kStoredKeys - 2000)));
    Result<ReadView> view = world.store->Read();
    RangeRequest request{.key = key, .range_end = kEnd, .limit = state.range(0)};
    change(request);
    benchmark::DoNotOptimize(view->Range(request, sink));
    sink.Clear();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_RangePage(benchmark::State& state) {
  RunPages(state, [](RangeRequest&) {});
}
BENCHMARK(BM_RangePage)->Arg(1)->Arg(100)->Arg(1000);

void BM_RangePageDescending(benchmark::State& state) {
  RunPages(state, [](RangeRequest& request) { request.sort_order = SortOrder::kDescend; });
}
BENCHMARK(BM_RangePageDescending)->Arg(1000);

void BM_RangePageKeysOnly(benchmark::State& state) {
  RunPages(state, [](RangeRequest& request) { request.keys_only = true; });
}
BENCHMARK(BM_RangePageKeysOnly)->Arg(1000);

void BM_CountStoreKeys(benchmark::State& state) {
  RunPages(state, [](RangeRequest& request) { request.count_only = true; });
}
BENCHMARK(BM_CountStoreKeys)->Arg(1);

void BM_RangeAllSortedByModWithLimit(benchmark::State& state) {
  World& world = TheWorld();
  AnswerSink sink;
  static constexpr std::string_view kAll("\0", 1);
  for (auto _ : state) {
    Result<ReadView> view = world.store->Read();
    RangeRequest request{.key = kAll, .range_end = kAll, .limit = 10};
    request.sort_order = SortOrder::kDescend;
    request.sort_target = SortTarget::kMod;
    benchmark::DoNotOptimize(view->Range(request, sink));
    sink.Clear();
  }
}
BENCHMARK(BM_RangeAllSortedByModWithLimit)->Unit(benchmark::kMillisecond);

void BM_HashKv(benchmark::State& state) {
  World& world = TheWorld();
  for (auto _ : state) benchmark::DoNotOptimize(world.store->HashKv(0));
}
BENCHMARK(BM_HashKv)->Unit(benchmark::kMillisecond)->UseRealTime();

// Includes all that earlier benchmarks have written beside the keys.
void BM_Restore(benchmark::State& state) {
  World& world = TheWorld();
  RestoreRequest request;
  request.threads = static_cast<unsigned>(state.range(0));
  for (auto _ : state) {
    auto index = RestoreIndex(*world.backend, request);
    benchmark::DoNotOptimize(index);
  }
  state.counters["revisions"] = static_cast<double>(world.store->revision());
}
BENCHMARK(BM_Restore)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace kvorum::mvcc
