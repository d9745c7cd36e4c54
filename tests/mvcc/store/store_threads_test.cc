// The store over LMDB with real threads: readers on their own threads while entries are applied,
// committed, compacted and defragmented. A reader must see one single state: every txn writes the
// same number to all keys of a group and deletes and creates keys in pairs, so that a torn view
// shows.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/executor.h"
#include "tests/eventually.h"
#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

class ThreadedStore {
 public:
  ThreadedStore() {
    SetLogLevel(LogLevel::kWarn);
    std::string name = (std::filesystem::temp_directory_path() / "kvorum-threads-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    StoreOptions options;
    options.commit.batch_interval = std::chrono::milliseconds(2);
    options.commit.batch_operations = 200;
    options.commit.on_fatal = [](const Error& error) { FAIL() << error.message; };
    options.compaction = {
        .batch_limit = 50, .pause = std::chrono::microseconds(100), .index_step = 20};
    LmdbOptions lmdb;
    lmdb.path = (folder_ / "db").string();
    lmdb.map_size_bytes = std::uint64_t{1} << 30;
    store = Ok(Store::Open(options, Ok(OpenLmdbBackend(lmdb)),
                           {.apply = apply, .backend = backend, .copier = copier}));
  }
  ~ThreadedStore() {
    apply.Stop();
    backend.Stop();
    copier.Stop();
    store.reset();
    std::filesystem::remove_all(folder_);
  }

  // Runs on the apply executor and waits for it.
  void OnApply(std::move_only_function<void()> task) {
    std::mutex mutex;
    std::condition_variable done;
    bool finished = false;
    apply.Post([&] {
      task();
      const std::lock_guard lock(mutex);
      finished = true;
      done.notify_one();
    });
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return finished; });
  }

  ThreadExecutor apply{"apply"};
  ThreadExecutor backend{"backend"};
  ThreadExecutor copier{"copier"};
  std::unique_ptr<Store> store;

 private:
  std::filesystem::path folder_;
};

constexpr int kGroup = 8;   // keys g0 … g7, always equal
constexpr int kPairs = 40;  // x<i> lives if and only if y<i> does

void ApplyRound(Store& store, int round, std::uint64_t index, Rng& rng) {
  {
    WriteTxn txn = store.Begin();
    const std::string value = std::to_string(round);
    for (int i = 0; i < kGroup; ++i) {
      Ok(txn.Put(Put(std::string("g").append(std::to_string(i)), value)));
    }
  }
  {
    WriteTxn txn = store.Begin();
    const std::string i = std::to_string(rng.Below(kPairs));
    const std::string x = std::string("x").append(i);
    const std::string y = std::string("y").append(i);
    if (rng.OneIn(2)) {
      Ok(txn.Put(Put(x, std::string(200, 'x'))));
      Ok(txn.Put(Put(y, std::string(200, 'y'))));
    } else {
      Ok(txn.DeleteRange(Delete(x)));
      Ok(txn.DeleteRange(Delete(y)));
    }
  }
  // The keys that the entry after next reads are on disk or still in the buffer.
  {
    WriteTxn txn = store.Begin();
    const PutResult result = Ok(txn.Put(WithPrevKv(Put("log", std::to_string(round)))));
    if (round > 1) {
      EXPECT_EQ(Ok(DecodeKeyValue(result.prev_kv.view())).value, std::to_string(round - 1));
    }
  }
  if (round % 50 == 49) static_cast<void>(store.Compact(store.working_revision() - 20, nullptr));
  store.Publish(index, 1);
}

void CheckView(ReadView& view, std::int64_t at) {
  const RangeResult group = Ok(view.Range(GetAt(at, "g", "h")));
  if (group.rows.empty()) return;
  ASSERT_EQ(group.rows.size(), static_cast<std::size_t>(kGroup));
  const KeyValue first = Ok(DecodeKeyValue(group.rows[0]));
  for (std::size_t i = 1; i < group.rows.size(); ++i) {
    const KeyValue kv = Ok(DecodeKeyValue(group.rows[i]));
    ASSERT_EQ(kv.value, first.value);
    ASSERT_EQ(kv.mod_revision, first.mod_revision);
  }
  const RangeResult x = Ok(view.Range(GetAt(at, "x", "y")));
  const RangeResult y = Ok(view.Range(GetAt(at, "y", "z")));
  ASSERT_EQ(x.count, y.count);
  ASSERT_EQ(x.rows.size(), y.rows.size());
}

void Read(Store& store, std::atomic<bool>& stop, std::uint64_t seed) {
  Rng rng(seed);
  std::int64_t last = 0;
  while (!stop.load() && !testing::Test::HasFailure()) {
    ReadView view = Ok(store.Read());
    ASSERT_GE(view.revision(), last);
    last = view.revision();
    const std::string x = std::string("x").append(std::to_string(rng.Below(kPairs)));
    const std::vector<std::string_view> ahead{"g0", x, "log", "missing"};
    view.LookAhead(ahead);
    CheckView(view, 0);
    // Everything from the compacted revision on stays readable while the view lives.
    const std::int64_t oldest = std::max<std::int64_t>(view.compact_revision(), 2);
    if (view.revision() > oldest) {
      CheckView(view, oldest + static_cast<std::int64_t>(rng.Below(
                                   static_cast<std::uint64_t>(view.revision() - oldest))));
    }
    if (rng.OneIn(10)) {
      // A hash covers the pinned view, also under writes.
      ASSERT_EQ(Ok(view.HashKv(0)).hash, Ok(view.HashKv(view.revision())).hash);
    }
  }
}

TEST(StoreThreadsTest, ReadersSeeWholeStatesWhileEverythingGoesOn) {
  std::atomic<int> defragmented{0};
  ThreadedStore threaded;
  std::atomic<bool> stop{false};
  std::vector<std::jthread> readers;
  for (std::uint64_t i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] { Read(*threaded.store, stop, i); });
  }
  Rng rng(1);
  std::uint64_t index = 0;
  for (int round = 1; round <= 1500; ++round) {
    threaded.OnApply([&] { ApplyRound(*threaded.store, round, ++index, rng); });
    if (round % 500 == 250) {
      threaded.store->Defragment([&](const Result<void>& done) {
        Ok(done);
        ++defragmented;
      });
    }
  }
  EXPECT_TRUE(Eventually([&] { return defragmented == 3; }));
  stop = true;
  readers.clear();
  EXPECT_GT(threaded.store->compact_revision(), 0);
  threaded.OnApply([&] { threaded.store->CheckInvariants(); });
}

}  // namespace
}  // namespace kvorum::mvcc
