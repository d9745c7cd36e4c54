// The LMDB backend on a real disk: appends in commits as the committer makes them, random gets,
// scans, the cost of a reader, the start's verified scan.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/write_buffer.h"

namespace kvorum::mvcc {
namespace {

constexpr std::size_t kRecordValueBytes = 300;
constexpr std::int64_t kRecords = 1'000'000;

class Folder {
 public:
  Folder() {
    path_ = (std::filesystem::temp_directory_path() / "kvorum-bench-XXXXXX").string();
    KV_CHECK(::mkdtemp(path_.data()) != nullptr, "no folder to write to");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::unique_ptr<Backend> Open() const {
    auto opened = OpenLmdbBackend({.path = path_ + "/db"});
    KV_CHECK(opened.has_value(), opened.error().message);
    return *std::move(opened);
  }

 private:
  std::string path_;
};

void CommitRecords(Backend& backend, std::int64_t first, std::int64_t count) {
  static const std::string value(kRecordValueBytes, 'v');
  std::vector<RevisionRecord> records;
  records.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) records.push_back({{first + i, 0}, value, false});
  WriteBatch batch;
  batch.appends.push_back(records);
  batch.changes.Put(Bucket::kMeta, meta_key::kConsistentIndex, "12345678");
  KV_CHECK(backend.Commit(batch).has_value(), "the commit failed");
}

// A database of kRecords records, made once.
Backend& Filled() {
  static const Folder folder;
  static const std::unique_ptr<Backend> backend = [] {
    auto made = folder.Open();
    for (std::int64_t first = 2; first < 2 + kRecords; first += 10'000) {
      CommitRecords(*made, first, 10'000);
    }
    return made;
  }();
  return *backend;
}

void BackendCommit(benchmark::State& state) {
  const Folder folder;
  const auto backend = folder.Open();
  std::int64_t next = 2;
  for (auto _ : state) {
    CommitRecords(*backend, next, state.range(0));
    next += state.range(0);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BackendCommit)->Arg(1)->Arg(1'000)->Arg(10'000)->UseRealTime();

void BackendDelete(benchmark::State& state) {
  const Folder folder;
  const auto backend = folder.Open();
  std::int64_t next = 2;
  for (auto _ : state) {
    state.PauseTiming();
    CommitRecords(*backend, next, state.range(0));
    WriteBatch batch;
    for (std::int64_t i = 0; i < state.range(0); ++i) batch.deletions.push_back({next + i, 0});
    next += state.range(0);
    state.ResumeTiming();
    KV_CHECK(backend->Commit(batch).has_value(), "the commit failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BackendDelete)->Arg(1'000)->UseRealTime();

void BackendReader(benchmark::State& state) {
  Backend& backend = Filled();
  for (auto _ : state) benchmark::DoNotOptimize(backend.NewReader());
}
BENCHMARK(BackendReader)->Threads(1)->Threads(2);

void BackendGetRevision(benchmark::State& state) {
  Backend& backend = Filled();
  const Reader reader = *backend.NewReader();
  Rng rng(1);
  for (auto _ : state) {
    const Revision revision{2 + static_cast<std::int64_t>(rng.Below(kRecords)), 0};
    benchmark::DoNotOptimize(reader->GetRevision(revision));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BackendGetRevision);

void BackendScan(benchmark::State& state) {
  Backend& backend = Filled();
  for (auto _ : state) {
    const Reader reader = *backend.NewReader();
    std::int64_t seen = 0;
    const auto done =
        reader->ScanRevisions({2, 0}, {2 + kRecords, 0}, [&](const RevisionRecord& record) {
          seen += record.revision.main > 0 ? 1 : 0;
          return true;
        });
    KV_CHECK(done.has_value() && seen == kRecords, "the scan failed");
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
BENCHMARK(BackendScan)->Unit(benchmark::kMillisecond);

void BackendDefragment(benchmark::State& state) {
  Backend& backend = Filled();
  for (auto _ : state) {
    auto copy = backend.StartDefragment();
    KV_CHECK(copy.has_value() && (*copy)->Copy().has_value(), "the copy failed");
    KV_CHECK(backend.FinishDefragment(*std::move(copy)).has_value(), "it could not be placed");
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
BENCHMARK(BackendDefragment)->Unit(benchmark::kMillisecond)->Iterations(2)->UseRealTime();

void WriteBufferAppend(benchmark::State& state) {
  WriteBuffer buffer({});
  const std::string value(kRecordValueBytes, 'v');
  std::int64_t main = 2;
  for (auto _ : state) {
    value.copy(buffer.Append({main, 0}, false, value.size()), value.size());
    buffer.Put(Bucket::kMeta, meta_key::kConsistentIndex, "12345678");
    buffer.Publish(static_cast<std::uint64_t>(main));
    if (++main % 2'000 == 0) buffer.Release(buffer.Take());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(WriteBufferAppend);

void WriteBufferFind(benchmark::State& state) {
  WriteBuffer buffer({});
  for (std::int64_t main = 2; main < 20'002; ++main)
    buffer.Append({main, 0}, false, kRecordValueBytes);
  buffer.Publish(1);
  Rng rng(1);
  for (auto _ : state) {
    const auto view = buffer.CurrentView();
    benchmark::DoNotOptimize(view.Find({2 + static_cast<std::int64_t>(rng.Below(20'000)), 0}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(WriteBufferFind);

}  // namespace
}  // namespace kvorum::mvcc
