// The power goes off at every write operation of the backend (the twin in memory, or LMDB:
// crash_images.h), while entries are committed, compactions run and the file is defragmented;
// tests/disk/sim_file_system.h has the possible states after it. After each of these crashes the
// following must hold: the store opens; its consistent index is one that was published, and none
// below the one reported durable; contents, revision and hash are exactly those of that index; a
// compaction that was cut off is finished and leaves exactly what it must.
#include <gtest/gtest-spi.h>

#include <map>

#include "base/log/logging.h"
#include "tests/mvcc/crash_images.h"
#include "tests/mvcc/store_fixture.h"
#include "tests/mvcc/store_model.h"
#include "tests/mvcc/store_random.h"

namespace kvorum::mvcc {
namespace {

class CrashHistory {
 public:
  // `found`: the failures of a run that is to fail, which go there instead (gtest-spi.h).
  explicit CrashHistory(std::uint64_t seed, const testing::TestPartResultArray* found = nullptr)
      : found_(found), rng_(seed), model_(harness_.leases.leases) {
    harness_.leases.leases = {1, 2, 3};
    harness_.options.compaction = {
        .batch_limit = 4, .pause = std::chrono::milliseconds(1), .index_step = 5};
    images_.Begin();
    by_index_.insert_or_assign(0, model_);
  }

  void Run(int operations) {
    harness_.files.SetObserver([this] { CrashHere(); });
    for (int i = 0; i < operations && !HasFailed(); ++i) {
      RandomRequests random(rng_(), model_.revision());
      Entry(random);
      if (rng_.OneIn(2)) Publish();
      if (rng_.OneIn(15)) Compact(random.Revision());
      if (rng_.OneIn(50)) harness_.store->Defragment([](const Result<void>& done) { Ok(done); });
      for (std::uint64_t n = rng_.Below(6); n > 0; --n) harness_.executors->RunOneOf(rng_);
      if (rng_.OneIn(5)) harness_.executors->clock.Advance(std::chrono::milliseconds(20));
    }
    harness_.Settle();
    harness_.files.SetObserver(nullptr);
  }

  SimFileSystem& files() { return harness_.files; }
  int crashes() const { return crashes_; }
  int resumed() const { return resumed_; }

 private:
  bool HasFailed() const {
    return testing::Test::HasFailure() || (found_ != nullptr && found_->size() > 0);
  }

  void Entry(RandomRequests& random) {
    WriteTxn txn = harness_.store->Begin();
    switch (rng_.Below(4)) {
      case 0:
      case 1: {
        const PutRequest put = random.Put();
        ASSERT_EQ(ShowAnswer(txn.Put(put)), model_.Put(put));
        break;
      }
      case 2: {
        const DeleteRangeRequest del = random.Delete();
        ASSERT_EQ(ShowAnswer(txn.DeleteRange(del)), model_.Delete(del));
        break;
      }
      default: {
        const TxnRequest request = random.Txn();
        ASSERT_EQ(ShowAnswer(txn.ExecuteTxn(request)), model_.Txn(request));
      }
    }
  }

  void Publish() {
    by_index_.insert_or_assign(harness_.index + 1, model_);
    harness_.Publish();
  }

  void Compact(std::int64_t revision) {
    static_cast<void>(harness_.store->Compact(revision, nullptr));
    model_.Compact(revision);
    Publish();
  }

  void CrashHere() {
    for (const SimFileSystem::Keep keep : SimFileSystem::kAllKeeps) {
      if (HasFailed()) return;
      Rng rng(rng_());
      Restart(*harness_.files.CrashImage(keep, rng));
      ++crashes_;
    }
  }

  void Restart(SimFileSystem& files) {
    ManualExecutors executors;
    Result<std::unique_ptr<Backend>> backend = images_.Open(files, "db");
    ASSERT_TRUE(backend.has_value()) << backend.error().message;
    Backend& opened = **backend;
    Result<std::unique_ptr<Store>> store = Store::Open(
        harness_.options, *std::move(backend),
        {.apply = executors.apply, .backend = executors.backend, .copier = executors.copier});
    ASSERT_TRUE(store.has_value()) << store.error().message;

    const std::uint64_t index = (*store)->recovered().consistent_index;
    ASSERT_GE(index, harness_.durable_index);
    ASSERT_TRUE(by_index_.contains(index)) << index;
    const StoreModel& model = by_index_.at(index);
    ASSERT_EQ((*store)->revision(), model.revision());
    ASSERT_EQ((*store)->compact_revision(), model.compact_revision());
    (*store)->CheckInvariants();
    ReadView view = Ok((*store)->Read());
    ASSERT_EQ(ShowAnswer(view.Range(GetAll())), model.Range(GetAll()));
    ASSERT_EQ(Ok(view.HashKv(0)).hash, model.Hash(model.compact_revision(), model.revision()));
    FinishCompaction(executors, opened, model);
  }

  void FinishCompaction(ManualExecutors& executors, Backend& backend, const StoreModel& model) {
    const std::size_t before = Records(backend).size();
    const std::uint64_t durable = harness_.durable_index;  // the callback is shared
    executors.RunAll();
    harness_.durable_index = durable;
    const std::vector<std::string> after = Records(backend);
    ASSERT_EQ(after, model.Records());
    if (after.size() < before) ++resumed_;
  }

  static std::vector<std::string> Records(Backend& backend) {
    std::vector<std::string> records;
    const Reader reader = Ok(backend.NewReader());
    Ok(reader->ScanRevisions({}, {.main = INT64_MAX, .sub = 0}, [&](const RevisionRecord& record) {
      records.push_back(std::to_string(record.revision.main) + "." +
                        std::to_string(record.revision.sub) + (record.tombstone ? "t" : ""));
      return true;
    }));
    return records;
  }

  const testing::TestPartResultArray* const found_;
  Rng rng_;
  StoreHarness harness_{CrashImages::kKind};
  CrashImages images_{harness_};
  StoreModel model_;
  std::map<std::uint64_t, StoreModel> by_index_;
  int crashes_ = 0;
  int resumed_ = 0;
};

class StoreCrash : public testing::TestWithParam<std::uint64_t> {};

TEST_P(StoreCrash, LosesNothingThatWasDurableAtAnyWrite) {
  SetLogLevel(LogLevel::kError);
  CrashHistory history(GetParam());
  history.Run(150);
  RecordProperty("crashes", history.crashes());
  EXPECT_GT(history.crashes(), 250);
  EXPECT_GT(history.resumed(), 0) << "no crash has cut a compaction off";
}

// The canary: were the syncs of the backend's file left out, a crash would show it.
TEST(StoreCrashCanary, SyncsThatAreLeftOutAreFound) {
  testing::TestPartResultArray found;
  {
    const testing::ScopedFakeTestPartResultReporter intercepted(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &found);
    CrashHistory history(1, &found);
    history.files().LeaveOutSyncs([](const std::string& path) { return path.contains("/db"); });
    history.Run(150);
  }
  ASSERT_GT(found.size(), 0);
  EXPECT_THAT(found.GetTestPartResult(0).message(), testing::HasSubstr("truncated"));
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoreCrash, testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace kvorum::mvcc
