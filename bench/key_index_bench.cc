// The key index alone: the cost of a change, a lookup, a page, a count and a restore, and the bytes
// per key. Built for several fan-outs it makes the table of docs/decisions/0001.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "mvcc/index/key_index.h"
#include "mvcc/index/key_index_builder.h"

namespace kvorum::mvcc {
namespace {

constexpr std::size_t kKeys = 1'000'000;
constexpr std::size_t kKeyBytes = 32;

// 32 bytes: a common prefix, then the number.
std::string KeyOf(std::uint64_t number) {
  std::string key = "/registry/pods/default/0000000000";
  key.resize(kKeyBytes, '0');
  for (std::size_t at = key.size(); number > 0; number /= 10) {
    key[--at] = static_cast<char>('0' + number % 10);
  }
  return key;
}

// The numbers below `count`, in order or not.
std::vector<std::uint64_t> Numbers(std::size_t count, bool shuffled) {
  std::vector<std::uint64_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = i;
  if (shuffled) {
    Rng rng(7);
    std::shuffle(numbers.begin(), numbers.end(), rng);
  }
  return numbers;
}

void Fill(KeyIndex& index, const std::vector<std::uint64_t>& numbers, std::size_t batch) {
  std::int64_t revision = 1;
  for (const std::uint64_t number : numbers) {
    index.Put(KeyOf(number), {++revision, 0});
    if (static_cast<std::size_t>(revision) % batch == 0) {
      index.Publish({.current_revision = revision});
    }
  }
  index.Publish({.current_revision = revision});
}

// One index with a million keys put in random order, for all that only read.
KeyIndex& RandomlyFilled() {
  static KeyIndex* index = [] {
    auto* made = new KeyIndex;
    Fill(*made, Numbers(kKeys, true), 256);
    return made;
  }();
  return *index;
}

double BytesPerKey(const KeyIndex& index, std::size_t keys) {
  return static_cast<double>(index.stats().bytes_reserved) / static_cast<double>(keys) -
         static_cast<double>(kKeyBytes);
}

void Insert(benchmark::State& state, bool shuffled) {
  const auto numbers = Numbers(kKeys, shuffled);
  double overhead = 0;
  double height = 0;
  for (auto _ : state) {
    KeyIndex index;
    Fill(index, numbers, 256);
    overhead = BytesPerKey(index, kKeys);
    height = index.stats().height;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kKeys));
  state.counters["bytes_beyond_key"] = overhead;
  state.counters["height"] = height;
}
void BM_InsertRandom(benchmark::State& state) { Insert(state, true); }
void BM_InsertAscending(benchmark::State& state) { Insert(state, false); }
BENCHMARK(BM_InsertRandom)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_InsertAscending)->Unit(benchmark::kMillisecond);

// A put of a random key among a million, published in batches of the given size.
void BM_Overwrite(benchmark::State& state) {
  KeyIndex index;
  Fill(index, Numbers(kKeys, true), 256);
  Rng rng(3);
  std::int64_t revision = kKeys + 1;
  const auto batch = state.range(0);
  std::int64_t in_batch = 0;
  std::vector<std::string> keys;
  for (int i = 0; i < 100'000; ++i) keys.push_back(KeyOf(rng.Below(kKeys)));
  std::size_t next = 0;
  for (auto _ : state) {
    index.Put(keys[next], {++revision, 0});
    if (++next == keys.size()) next = 0;
    if (++in_batch == batch) {
      index.Publish({.current_revision = revision});
      in_batch = 0;
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Overwrite)->Arg(1)->Arg(16)->Arg(256);

// Puts the same key again and again: its history grows.
void BM_OverwriteOneKey(benchmark::State& state) {
  KeyIndex index;
  std::int64_t revision = 1;
  for (auto _ : state) {
    index.Put("key", {++revision, 0});
    if (revision % 16 == 0) index.Publish({.current_revision = revision});
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_OverwriteOneKey)->Iterations(1'000'000);

void BM_Get(benchmark::State& state) {
  const auto snapshot = RandomlyFilled().Snapshot();
  Rng rng(5);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kKeys; ++i) keys.push_back(KeyOf(rng.Below(kKeys)));
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(snapshot->Get(keys[next], 0));
    if (++next == keys.size()) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Get);

void BM_GetAbsent(benchmark::State& state) {
  const auto snapshot = RandomlyFilled().Snapshot();
  Rng rng(5);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kKeys; ++i) {
    keys.push_back(KeyOf(rng.Below(kKeys)));
    keys.back().back() = 'x';
  }
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(snapshot->Get(keys[next], 0));
    if (++next == keys.size()) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_GetAbsent);

void BM_Snapshot(benchmark::State& state) {
  KeyIndex& index = RandomlyFilled();
  for (auto _ : state) {
    auto snapshot = index.Snapshot();
    benchmark::DoNotOptimize(snapshot);
  }
}
BENCHMARK(BM_Snapshot)->Threads(1)->Threads(2);

void BM_Page1000(benchmark::State& state) {
  const auto snapshot = RandomlyFilled().Snapshot();
  Rng rng(11);
  const std::string end(1, '\0');
  for (auto _ : state) {
    const std::string begin = KeyOf(rng.Below(kKeys - 1000));
    int left = 1000;
    snapshot->Visit(KeyRange(begin, end), 0, [&](const IndexItem& item) {
      benchmark::DoNotOptimize(item.modified.main);
      return --left > 0;
    });
    benchmark::DoNotOptimize(snapshot->Count(KeyRange(begin, end), 0));
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(BM_Page1000)->Unit(benchmark::kMicrosecond);

void BM_CountIndexKeys(benchmark::State& state) {
  const auto snapshot = RandomlyFilled().Snapshot();
  Rng rng(13);
  for (auto _ : state) {
    const std::string begin = KeyOf(rng.Below(kKeys / 2));
    const std::string end = KeyOf(kKeys / 2 + rng.Below(kKeys / 2));
    benchmark::DoNotOptimize(snapshot->Count(KeyRange(begin, end), 0));
  }
}
BENCHMARK(BM_CountIndexKeys);

// Counts everything at a revision after which the given number of random keys were put.
void BM_CountAtOldRevision(benchmark::State& state) {
  KeyIndex index;
  Fill(index, Numbers(kKeys, true), 256);
  Rng rng(3);
  const std::int64_t pinned = kKeys + 1;
  for (std::int64_t i = 1; i <= state.range(0); ++i) {
    index.Put(KeyOf(rng.Below(kKeys)), {pinned + i, 0});
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        index.working().Count(KeyRange("", std::string_view("\0", 1)), pinned));
  }
}
BENCHMARK(BM_CountAtOldRevision)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);

// The only live key, behind a million that are dead.
void BM_FirstLiveKey(benchmark::State& state) {
  KeyIndex index;
  Fill(index, Numbers(kKeys, true), 256);
  std::int64_t revision = kKeys + 1;
  for (std::size_t i = 0; i + 1 < kKeys; ++i) index.Tombstone(KeyOf(i), {++revision, 0});
  for (auto _ : state) {
    index.working().Visit(KeyRange("", std::string_view("\0", 1)), 0, [&](const IndexItem& item) {
      benchmark::DoNotOptimize(item.modified.main);
      return false;
    });
  }
}
BENCHMARK(BM_FirstLiveKey)->Unit(benchmark::kMicrosecond);

// Each of a million keys put twice; all first revisions are dropped, in steps of 1,000 entries.
void BM_Compact(benchmark::State& state) {
  const auto numbers = Numbers(kKeys, true);
  double longest_step_us = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto index = std::make_unique<KeyIndex>();
    Fill(*index, numbers, 256);
    std::int64_t revision = kKeys + 1;
    for (const std::uint64_t number : numbers) {
      index->Put(KeyOf(number), {++revision, 0});
      if (revision % 256 == 0) index->Publish({.current_revision = revision});
    }
    state.ResumeTiming();
    KeyIndex::CompactProgress progress;
    while (!progress.done) {
      const auto start = std::chrono::steady_clock::now();
      index->CompactStep(revision, 1000, progress);
      index->Publish({.current_revision = revision, .compact_revision = revision});
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - start;
      longest_step_us = std::max(longest_step_us, took.count());
    }
    state.PauseTiming();
    index.reset();
    state.ResumeTiming();
  }
  state.counters["longest_step_us"] = longest_step_us;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kKeys));
}
BENCHMARK(BM_Compact)->Unit(benchmark::kMillisecond)->Iterations(2);

// A server's start: as many keys in random order, chunks filled and sorted by two threads.
void BM_Build(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t kChunk = 250'000;
  const auto numbers = Numbers(count, true);
  double overhead = 0;
  for (auto _ : state) {
    KeyIndexBuilder builder;
    std::vector<KeyIndexBuilder::Chunk*> chunks;
    for (std::size_t at = 0; at < count; at += kChunk) chunks.push_back(&builder.AddChunk());
    const auto fill = [&](std::size_t first) {
      for (std::size_t i = first; i < chunks.size(); i += 2) {
        for (std::size_t at = i * kChunk; at < std::min(count, (i + 1) * kChunk); ++at) {
          const auto revision = static_cast<std::int64_t>(at) + 2;
          const auto added = chunks[i]->Add({.key = KeyOf(numbers[at]),
                                             .revision = {revision, 0},
                                             .create_revision = revision,
                                             .version = 1});
          if (!added.has_value()) state.SkipWithError("a record was refused");
        }
        chunks[i]->Finish();
      }
    };
    std::thread other(fill, 1);
    fill(0);
    other.join();
    auto index = builder.Build({});
    overhead = BytesPerKey(**index, count);
    state.PauseTiming();
    index->reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
  state.counters["bytes_beyond_key"] = overhead;
}
BENCHMARK(BM_Build)
    ->Arg(1'000'000)
    ->Arg(10'000'000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(2);

// A restored index takes new keys: the cost depends on how full its nodes are.
void BM_InsertAfterBuild(benchmark::State& state) {
  const auto numbers = Numbers(2 * kKeys, true);
  const auto extra = kKeys * static_cast<std::size_t>(state.range(0)) / 100;
  double overhead = 0;
  for (auto _ : state) {
    state.PauseTiming();
    KeyIndexBuilder builder;
    auto& chunk = builder.AddChunk();
    std::int64_t revision = 1;
    for (std::size_t i = 0; i < kKeys; ++i) {
      ++revision;
      const auto added = chunk.Add({.key = KeyOf(numbers[i]),
                                    .revision = {revision, 0},
                                    .create_revision = revision,
                                    .version = 1});
      if (!added.has_value()) state.SkipWithError("a record was refused");
    }
    auto index = builder.Build({});
    state.ResumeTiming();
    for (std::size_t i = 0; i < extra; ++i) {
      (*index)->Put(KeyOf(numbers[kKeys + i]), {++revision, 0});
      if (revision % 256 == 0) (*index)->Publish({.current_revision = revision});
    }
    state.PauseTiming();
    overhead = BytesPerKey(**index, kKeys + extra);
    index->reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(extra));
  state.counters["bytes_beyond_key"] = overhead;
}
BENCHMARK(BM_InsertAfterBuild)
    ->Arg(5)
    ->Arg(20)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace kvorum::mvcc
