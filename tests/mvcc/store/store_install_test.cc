// Another member's snapshot replaces a store's content, while it is read, compacted and
// defragmented: readers see the old content or the new, never a mix, and never go back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "base/executor.h"
#include "base/rng.h"
#include "mvcc/store/hash_run.h"
#include "mvcc/store/history_scan.h"
#include "mvcc/store/history_sum.h"
#include "tests/eventually.h"
#include "tests/mvcc/crash_images.h"
#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

using testing::ElementsAre;

// A store whose snapshots others get, beside the one under test.
class Leader : public StoreHarness {
 public:
  using StoreHarness::StoreHarness;
  std::string Stream() {
    Settle();
    const auto opened = Ok(store->OpenSnapshot());
    EXPECT_EQ(opened.content.consistent_index, index);
    std::string stream;
    while (true) {
      const SharedBytes chunk = Ok(opened.source->Next());
      if (chunk.empty()) return stream;
      stream += chunk.view();
    }
  }
};

class StoreInstallTest : public testing::TestWithParam<StoreHarness::Kind> {
 protected:
  StoreInstallTest() : follower_(GetParam()) {}

  FileSystem& Files() {
    if (GetParam() == StoreHarness::Kind::kLmdb) return PosixFileSystem();
    return follower_.files;
  }
  void Receive(const std::string& stream) {
    auto sink = Ok(MakeSnapshotSink(
        Files(), {.open = follower_.Opener(), .path = SnapshotPath(), .check = nullptr}));
    Ok(sink->Write(stream));
    Ok(sink->Finish());
  }
  std::string SnapshotPath() { return follower_.DatabasePath() + ".received"; }
  // Begins; `installed_` tells when it is done.
  void BeginInstall() {
    installed_ = false;
    follower_.store->Install({.open = follower_.Opener(),
                              .snapshot_path = SnapshotPath(),
                              .path = follower_.DatabasePath(),
                              .consistent_index = leader_.index,
                              .load = [this](Snapshot& content) -> Result<void> {
                                loaded_revisions_ = Ok(content.CountRevisions());
                                return {};
                              }},
                             [this] { installed_ = true; });
  }
  void Install() {
    Receive(leader_.Stream());
    BeginInstall();
    follower_.Settle();
    ASSERT_TRUE(installed_);
    follower_.index = leader_.index;
  }
  void ExpectEqual() {
    EXPECT_EQ(follower_.revision(), leader_.revision());
    EXPECT_EQ(follower_.store->compact_revision(), leader_.store->compact_revision());
    EXPECT_EQ(Ok(follower_.store->HashKv(0)).hash, Ok(leader_.store->HashKv(0)).hash);
    EXPECT_EQ(follower_.Rows(GetAll()), leader_.Rows(GetAll()));
    follower_.store->CheckInvariants();
  }

  Leader leader_;
  StoreHarness follower_;
  bool installed_ = false;
  std::uint64_t loaded_revisions_ = 0;
};

TEST_P(StoreInstallTest, TheContentIsTheLeadersAndGoesOnBeing) {
  for (int i = 0; i < 50; ++i) {
    leader_.Put("key" + std::to_string(i % 20), std::to_string(i));
    if (i < 10) follower_.Put("key" + std::to_string(i % 20), std::to_string(i));
  }
  leader_.Delete("key3");
  Install();
  EXPECT_EQ(loaded_revisions_, 51U);
  ExpectEqual();
  EXPECT_EQ(follower_.store->recovered().consistent_index, leader_.index);
  // Writes go on, and are durable.
  leader_.Put("after", "it");
  follower_.Put("after", "it");
  leader_.Delete("key4");
  follower_.Delete("key4");
  follower_.Settle();
  ExpectEqual();
  follower_.Reopen();
  ExpectEqual();
  EXPECT_EQ(follower_.index, leader_.index);
}

TEST_P(StoreInstallTest, WhatWaitedToBecomeDurableIsDropped) {
  follower_.Put("mine", "not yet durable");
  for (int i = 0; i < 5; ++i) leader_.Put("k", std::to_string(i));
  Install();
  ExpectEqual();
  EXPECT_TRUE(follower_.Keys(Get("mine")).empty());
  EXPECT_EQ(follower_.store->PendingBytes(), 0U);
  follower_.Reopen();
  ExpectEqual();
}

// A pass at any moment of an installation has one content's sum or no verdict.
TEST_P(StoreInstallTest, APassOverTheDatabaseNeverTakesOneContentForTheOther) {
  for (int i = 0; i < 30; ++i) leader_.Put("k", std::to_string(i));
  follower_.Put("k", "old");
  const std::string stream = leader_.Stream();
  const auto pass = [&] {
    HistoryScan scan(*follower_.store);
    while (Ok(scan.Step(1000)) != HistoryScan::Progress::kDone) {
    }
    return follower_.store->history_sum().EndPass().outcome;
  };
  follower_.Settle();
  ASSERT_EQ(pass(), HistorySum::Outcome::kFirst);
  Receive(stream);
  BeginInstall();
  Rng rng(1);
  while (!installed_) {
    EXPECT_NE(pass(), HistorySum::Outcome::kDiffers);
    ASSERT_TRUE(follower_.executors->RunOneOf(rng));
  }
  follower_.Settle();
  EXPECT_EQ(pass(), HistorySum::Outcome::kFirst);
  EXPECT_EQ(pass(), HistorySum::Outcome::kEqual);
}

// HashKV reads in pieces, and the number must not be of a piece of each: other members would be
// accused of a difference.
TEST_P(StoreInstallTest, AHashThatBeganBeforeItIsOfTheOldContentOrNone) {
  int ended = 0;
  int whole = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    // Both go on at the same revisions, with other values.
    for (int i = 0; i < 10; ++i) leader_.Put("k", std::to_string(i));
    for (int i = 0; i < 8; ++i) follower_.Put("k", "wrong");
    const std::int64_t at = rng.OneIn(2) ? 0 : follower_.revision() - 1;
    const std::uint32_t old_hash = Ok(follower_.store->HashKv(at)).hash;
    Receive(leader_.Stream());
    const auto most_records = static_cast<std::uint64_t>(follower_.revision());
    std::optional<HashRun> run = Ok(HashRun::Begin(
        *follower_.store, at,
        {.overtaken = rng.OneIn(2) ? HashRun::Overtaken::kEnds : HashRun::Overtaken::kKeepsView,
         .piece_records = 1 + rng.Below(most_records)}));
    Result<bool> is_done = run->Step();
    BeginInstall();
    while (!installed_) {
      if (rng.OneIn(2) && is_done.has_value() && !*is_done) is_done = run->Step();
      ASSERT_TRUE(follower_.executors->RunOneOf(rng));
    }
    while (is_done.has_value() && !*is_done) is_done = run->Step();
    if (is_done.has_value()) {
      EXPECT_EQ(run->Finish().hash, old_hash);
      ++whole;
    } else {
      EXPECT_TRUE(FailsWith(is_done, kReaderMustEnd));
      ++ended;
    }
    run.reset();  // the old content's file is closed with its last user
    follower_.Settle();
    follower_.index = leader_.index;
    ExpectEqual();
  }
  EXPECT_GT(ended, 3);
  EXPECT_GT(whole, 3);
}

TEST_P(StoreInstallTest, ReadersSeeTheOldContentUntilAllOfTheNewIsThere) {
  for (int i = 0; i < 30; ++i) leader_.Put("k", std::to_string(i));
  follower_.Put("k", "old");
  ReadView before = Ok(follower_.store->Read());
  Receive(leader_.Stream());
  BeginInstall();
  Rng rng(1);
  int steps = 0;
  while (!installed_) {
    EXPECT_THAT(follower_.Rows(Get("k")), ElementsAre("k=old c2 m2 v1"));
    EXPECT_EQ(follower_.revision(), 2);
    ASSERT_TRUE(follower_.executors->RunOneOf(rng));
    ++steps;
  }
  EXPECT_GE(steps, 3);
  EXPECT_THAT(follower_.Rows(Get("k")), ElementsAre("k=29 c2 m31 v30"));
  // A view of before goes on, though its file has lost its name.
  EXPECT_THAT(Show(Ok(before.Range(Get("k"))).rows), ElementsAre("k=old c2 m2 v1"));
}

TEST_P(StoreInstallTest, TwoInSuccession) {
  leader_.Put("k", "1");
  Install();
  leader_.Put("k", "2");
  Install();
  ExpectEqual();
  follower_.Reopen();
  ExpectEqual();
}

// In every interleaving of the executors' tasks.
TEST_P(StoreInstallTest, WhileACompactionRuns) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const std::int64_t before = leader_.revision();
    for (int i = 0; i < 40; ++i) leader_.Put("k" + std::to_string(i % 3), std::to_string(i));
    if (follower_.revision() < leader_.revision()) {
      while (follower_.revision() < before + 20) follower_.Put("k", "x");
      follower_.options.compaction.batch_limit = 2;
      follower_.Compact(follower_.revision() - 3);
      for (std::uint64_t i = rng.Below(12); i > 0; --i) follower_.executors->RunOneOf(rng);
    }
    const int finished = follower_.compactions_finished;
    leader_.Compact(leader_.revision() - 5);
    Receive(leader_.Stream());
    BeginInstall();
    while (!installed_) {
      if (!follower_.executors->RunOneOf(rng))
        follower_.executors->clock.Advance(std::chrono::milliseconds(10));
    }
    follower_.Settle();
    follower_.index = leader_.index;
    EXPECT_EQ(follower_.compactions_finished, std::max(finished, static_cast<int>(seed)))
        << "who waited for a compaction is told";
    ExpectEqual();
  }
}

// The leader's compaction was not finished when the snapshot was taken.
TEST_P(StoreInstallTest, ACompactionThatTheContentHasUnfinishedGoesOn) {
  for (int i = 0; i < 40; ++i) leader_.Put("k", std::to_string(i));
  leader_.Settle();
  Ok(leader_.store->Compact(30, nullptr));
  leader_.Publish();
  // Only the mark is durable.
  while (leader_.executors->apply.RunOne()) {
  }
  leader_.store->Flush([] {});
  leader_.executors->backend.RunOne();
  const auto opened = Ok(leader_.store->OpenSnapshot());
  std::string stream;
  while (true) {
    const SharedBytes chunk = Ok(opened.source->Next());
    if (chunk.empty()) break;
    stream += chunk.view();
  }
  Receive(stream);
  BeginInstall();
  follower_.Settle();
  ASSERT_TRUE(installed_);
  leader_.Settle();
  ExpectEqual();
  EXPECT_EQ(follower_.store->compact_revision(), 30);
  follower_.Reopen();
  EXPECT_EQ(follower_.store->compact_revision(), 30);
}

// A copy of the old file must not take the new one's place, and who asked for it gets one.
TEST_P(StoreInstallTest, WhileADefragmentationRuns) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    for (int i = 0; i < 20; ++i) leader_.Put("k" + std::to_string(i), std::string(100, 'x'));
    int defragmented = 0;
    const auto count = [&](const Result<void>& result) {
      Ok(result);
      ++defragmented;
    };
    Receive(leader_.Stream());
    follower_.store->Defragment(count);
    for (std::uint64_t i = rng.Below(4); i > 0; --i) follower_.executors->RunOneOf(rng);
    follower_.store->Defragment(count);
    BeginInstall();
    while (!installed_) {
      if (!follower_.executors->RunOneOf(rng))
        follower_.executors->clock.Advance(std::chrono::milliseconds(10));
    }
    follower_.store->Defragment(count);
    follower_.Settle();
    EXPECT_EQ(defragmented, 3);
    follower_.index = leader_.index;
    ExpectEqual();
    // Records written now are in the file that has the name.
    leader_.Put("after", std::to_string(seed));
    follower_.Put("after", std::to_string(seed));
    follower_.Settle();
    follower_.Reopen();
    ExpectEqual();
  }
}

TEST_P(StoreInstallTest, ASnapshotOfAnotherIndexIsFatal) {
  for (int i = 0; i < 3; ++i) leader_.Put("k", "v");
  const std::string stream = leader_.Stream();
  std::vector<Error> fatal;
  follower_.options.commit.on_fatal = [&](const Error& error) { fatal.push_back(error); };
  follower_.Reopen();
  Receive(stream);
  ++leader_.index;
  BeginInstall();
  follower_.Settle();
  --leader_.index;
  ASSERT_EQ(fatal.size(), 1U);
  EXPECT_THAT(fatal[0].message, testing::HasSubstr("is of index 3 and not of 4"));
  EXPECT_FALSE(installed_);
}

// The member had applied entries that no other one has: only the cluster's content heals it.
TEST_P(StoreInstallTest, ARevisionBehindThatOfAWrongContentIsTaken) {
  SetLogLevel(LogLevel::kFatal);
  for (int i = 0; i < 3; ++i) leader_.Put("k", "v");
  for (int i = 0; i < 9; ++i) follower_.Put("k", "wrong");
  follower_.Compact(8);
  follower_.Settle();
  Install();
  EXPECT_EQ(follower_.revision(), 4);
  ExpectEqual();
  for (StoreHarness* each : {static_cast<StoreHarness*>(&leader_), &follower_}) {
    each->Put("k", "after");
    each->Compact(4);
    each->Settle();
  }
  ExpectEqual();
  follower_.Reopen();
  ExpectEqual();
}

TEST_P(StoreInstallTest, ADurableReaderIsTheLastToReleaseWhatItReads) {
  follower_.Put("k", "v");
  follower_.Settle();
  const auto opened = Ok(follower_.store->OpenDurable());
  follower_.store.reset();
  EXPECT_EQ(Ok(opened.reader->CountRevisions()), 1U);
}

// On a disk that loses power.
class StoreInstallCrashTest : public StoreInstallTest {
 protected:
  CrashImages images_{follower_};
};

// The state that a crash leaves at any moment of an installation opens, as the old content or the
// new.
TEST_P(StoreInstallCrashTest, APowerCutLeavesTheOldContentOrTheNew) {
  images_.Begin();
  for (int i = 0; i < 10; ++i) follower_.Put("k", "old");
  follower_.Settle();
  for (int i = 0; i < 30; ++i) leader_.Put("k", "new");
  Receive(leader_.Stream());
  Rng rng(7);
  int old_contents = 0;
  int new_contents = 0;
  follower_.files.SetObserver([&] {
    for (const SimFileSystem::Keep keep : SimFileSystem::kAllKeeps) {
      const auto image = follower_.files.CrashImage(keep, rng);
      const auto backend = images_.Open(*image, "db");
      ASSERT_TRUE(backend.has_value()) << backend.error().message;
      const std::uint64_t count = Ok(Ok((*backend)->NewReader())->CountRevisions());
      ASSERT_TRUE(count == 10 || count == 30) << count;
      if (count == 10) {
        ++old_contents;
        const auto received = images_.Open(*image, "db.received");
        ASSERT_TRUE(received.has_value()) << "neither is the new one lost";
      } else {
        ++new_contents;
      }
    }
  });
  BeginInstall();
  follower_.Settle();
  follower_.files.SetObserver(nullptr);
  EXPECT_TRUE(installed_);
  EXPECT_GT(old_contents, 0);
  EXPECT_GT(new_contents, 0);
}

// The log says that a received content is there, and forgets what is in it: each name is on the
// disk before the log says so.
TEST_P(StoreInstallCrashTest, WhatIsToldToBeThereIsThereAfterAPowerCut) {
  images_.Begin();
  follower_.Put("k", "old");
  follower_.Settle();
  for (int i = 0; i < 30; ++i) leader_.Put("k", "new");
  const auto revisions_of = [&](const std::string& name) -> std::uint64_t {
    Rng rng(7);
    const auto image = follower_.files.CrashImage(SimFileSystem::Keep::kNothing, rng);
    const auto backend = images_.Open(*image, name);
    return backend.has_value() ? Ok(Ok((*backend)->NewReader())->CountRevisions()) : 0;
  };
  Receive(leader_.Stream());
  EXPECT_EQ(revisions_of("db.received"), 30U);
  EXPECT_EQ(revisions_of("db"), 1U);
  BeginInstall();
  follower_.Settle();
  ASSERT_TRUE(installed_);
  EXPECT_EQ(revisions_of("db"), 30U);
}

INSTANTIATE_TEST_SUITE_P(Disk, StoreInstallCrashTest, testing::Values(CrashImages::kKind));
INSTANTIATE_TEST_SUITE_P(Backends, StoreInstallTest,
                         testing::Values(StoreHarness::Kind::kMemory, StoreHarness::Kind::kLmdb),
                         [](const auto& kind) {
                           return kind.param == StoreHarness::Kind::kLmdb ? "Lmdb" : "Memory";
                         });

// On real threads: readers run all the time, over several installations. Each state has one value
// under all keys, which is its revision.
TEST(StoreInstallThreads, ReadersGoOnAndSeeOneStateAtATimeAndNeverGoBack) {
  constexpr int kKeys = 200;
  constexpr int kRounds = 6;
  StoreHarness files(StoreHarness::Kind::kLmdb);
  files.store.reset();
  {
    ThreadExecutor apply("apply");
    ThreadExecutor backend("backend");
    ThreadExecutor copier("copier");
    StoreOptions options;
    options.commit.on_fatal = [](const Error& error) { FAIL() << error.message; };
    auto store = Ok(Store::Open(options, files.OpenBackend(),
                                {.apply = apply, .backend = backend, .copier = copier}));
    std::atomic<bool> ended = false;
    std::atomic<std::uint64_t> reads = 0;
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&] {
        std::int64_t seen = 0;
        while (!ended) {
          ReadView view = Ok(store->Read());
          ASSERT_GE(view.revision(), seen);
          seen = view.revision();
          const RangeResult result = Ok(view.Range(Get("k", "l")));
          ASSERT_TRUE(result.count == 0 || result.count == kKeys) << result.count;
          if (result.count == 0) continue;
          const std::string first(Ok(DecodeKeyValue(result.rows[0])).value);
          for (std::size_t row = 0; row < result.rows.size(); ++row)
            ASSERT_EQ(Ok(DecodeKeyValue(result.rows[row])).value, first);
          ++reads;
        }
      });
    }
    Leader leader;
    const std::string path = files.DatabasePath();
    for (int round = 1; round <= kRounds; ++round) {
      for (int key = 0; key < kKeys; ++key)
        leader.Put("k" + std::to_string(key), std::to_string(round));
      {
        auto sink = Ok(MakeSnapshotSink(
            PosixFileSystem(),
            {.open = files.Opener(), .path = path + ".received", .check = nullptr}));
        Ok(sink->Write(leader.Stream()));
        Ok(sink->Finish());
      }
      std::atomic<bool> installed = false;
      apply.Post([&] {
        store->Install({.open = files.Opener(),
                        .snapshot_path = path + ".received",
                        .path = path,
                        .consistent_index = leader.index,
                        .load = nullptr},
                       [&] {
                         installed = true;
                         installed.notify_all();
                       });
      });
      installed.wait(false);
      const std::uint64_t before = reads;
      EXPECT_TRUE(Eventually([&] { return reads >= before + 20; }));
      EXPECT_EQ(store->revision(), leader.revision());
    }
    ended = true;
    for (std::thread& reader : readers) reader.join();
    apply.Stop();
    backend.Stop();
    copier.Stop();
  }
  files.Open();
  EXPECT_EQ(files.revision(), 1 + kKeys * kRounds);
}

}  // namespace
}  // namespace kvorum::mvcc
