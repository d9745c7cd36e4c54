// The cost of the log: encoding and writing a batch without a sync, and with one, beside a bare
// pwrite + fdatasync of as many bytes.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "base/executor.h"
#include "wal/wal.h"

namespace kvorum::wal {
namespace {

// On the disk of the build: /tmp may be in memory.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = "wal_bench.XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<raft::Entry> MakeEntries(std::size_t count, std::size_t data_bytes) {
  std::vector<raft::Entry> entries;
  for (std::size_t i = 0; i < count; ++i) {
    entries.push_back({.term = 3,
                       .index = raft::Index{i + 1},
                       .type = raft::EntryType::kNormal,
                       .data = SharedBytes::Own(std::string(data_bytes, 'v'))});
  }
  return entries;
}

void Renumber(std::vector<raft::Entry>& entries, raft::Index last) {
  for (raft::Entry& entry : entries) entry.index = ++last;
}

enum class Synced : std::uint8_t { kNo, kYes };

void Append(benchmark::State& state, Synced synced, bool zero_segments) {
  const TemporaryFolder folder;
  ThreadExecutor background("prepare");
  Options options;
  options.zero_segments = zero_segments;
  options.background = &background;
  auto writer = Create(PosixFileSystem(), folder.path() + "/wal", {1, 2}, options);
  if (!writer.has_value()) return state.SkipWithError(writer.error().message.c_str());
  auto entries = MakeEntries(static_cast<std::size_t>(state.range(0)),
                             static_cast<std::size_t>(state.range(1)));
  raft::HardState hard_state = {.term = 3, .vote = 1, .commit = 0};
  constexpr std::int64_t kMaxUnpurgedBytes = std::int64_t{192} << 20;
  std::int64_t unpurged_bytes = 0;
  for (auto _ : state) {
    Renumber(entries, (*writer)->last_index());
    hard_state.commit = entries.front().index - 1;
    if (!(*writer)->Append(entries, &hard_state).has_value()) return state.SkipWithError("append");
    if (synced == Synced::kYes && !(*writer)->Sync().has_value()) {
      return state.SkipWithError("sync");
    }
    unpurged_bytes += state.range(0) * state.range(1);
    if (unpurged_bytes > kMaxUnpurgedBytes) {  // not to fill the disk
      unpurged_bytes = 0;
      state.PauseTiming();
      (*writer)->ReleaseTo((*writer)->last_index());
      static_cast<void>((*writer)->Purge(1));
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * state.range(1));
  background.Stop();
}

void BM_Append(benchmark::State& state) { Append(state, Synced::kNo, true); }
BENCHMARK(BM_Append)->ArgsProduct({{1, 16, 256, 4096}, {300}})->ArgsProduct({{1, 16}, {16384}});

void BM_AppendAndSync(benchmark::State& state) { Append(state, Synced::kYes, true); }
BENCHMARK(BM_AppendAndSync)
    ->ArgsProduct({{1, 16, 256, 4096}, {300}})
    ->Args({1, 16384})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

void BM_AppendAndSyncWithoutZeroing(benchmark::State& state) { Append(state, Synced::kYes, false); }
BENCHMARK(BM_AppendAndSyncWithoutZeroing)
    ->ArgsProduct({{1, 16, 256}, {300}})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

// The yardstick: a file that grows by as many bytes, synced each time.
void BM_BareWriteAndSync(benchmark::State& state) {
  const TemporaryFolder folder;
  auto file = PosixFileSystem().Open(folder.path() + "/file", FileSystem::OpenMode::kCreate);
  if (!file.has_value()) return state.SkipWithError("open");
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'v');
  const std::array<std::string_view, 1> parts = {bytes};
  std::uint64_t offset = 0;
  for (auto _ : state) {
    if (!(*file)->WriteAt(offset, parts).has_value() || !(*file)->Sync().has_value()) {
      return state.SkipWithError("write");
    }
    offset += bytes.size();
  }
}
BENCHMARK(BM_BareWriteAndSync)
    ->Arg(400)
    ->Arg(16 * 350)
    ->Arg(256 * 350)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

void BM_Open(benchmark::State& state) {
  const TemporaryFolder folder;
  const std::string dir = folder.path() + "/wal";
  {
    auto writer = Create(PosixFileSystem(), dir, {1, 2}, {});
    auto entries = MakeEntries(1000, 300);
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      Renumber(entries, (*writer)->last_index());
      static_cast<void>((*writer)->Append(entries, nullptr));
    }
    static_cast<void>((*writer)->Close());
  }
  for (auto _ : state) {
    const auto markers = ListMarkers(PosixFileSystem(), dir);
    const auto opened = Open(PosixFileSystem(), dir, {}, {});
    if (!opened.has_value()) return state.SkipWithError(opened.error().message.c_str());
    benchmark::DoNotOptimize(opened->contents.entries.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 1000);
}
BENCHMARK(BM_Open)->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_Crc32c(benchmark::State& state) {
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'v');
  std::uint32_t crc = 0;
  for (auto _ : state) benchmark::DoNotOptimize(crc = Crc32c(crc, bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Crc32c)->Arg(300)->Arg(4096);

}  // namespace
}  // namespace kvorum::wal
