// The key index that a store saves while it serves: a start after a kill reads it and the records
// after it, and makes the same index as a start that reads every record, with deletions,
// compactions, half-written files and damage in between.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "mvcc/index/index_file.h"
#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

// Everything that a client can see, and what the index knows beyond.
std::vector<std::string> Show(Store& store) {
  std::vector<std::string> all;
  for (std::int64_t at = std::max<std::int64_t>(store.compact_revision(), 1);
       at <= store.revision(); ++at) {
    all.push_back("at " + std::to_string(at));
    RangeRequest request = GetAll();
    request.revision = at;
    for (const std::string& row : Show(Ok(Ok(store.Read()).Range(request)).rows))
      all.push_back(row);
  }
  all.push_back("hash " + std::to_string(Ok(Ok(store.Read()).HashKv(0)).hash));
  all.push_back("live " + std::to_string(store.live_keys()));
  return all;
}

class IndexSaverTest : public testing::Test, public StoreHarness {
 protected:
  explicit IndexSaverTest(Kind kind = Kind::kMemory) : StoreHarness(kind) {
    SetLogLevel(LogLevel::kError);
    options.index_file = {
        .files = kind == Kind::kMemory ? static_cast<FileSystem*>(&files) : &PosixFileSystem(),
        .database_path = DatabasePath(),
        .seed = 1,
        .may_save = [this] { return may_save; },
        .lease_of = [this](std::string_view key) { return LeaseOf(key); },
        .attachments = {.count = [this] { return attached.size(); },
                        .parts = 2,
                        .visit_part =
                            [this](std::size_t part, const IndexAttachments::Visit& visit) {
                              for (const auto& [key, lease] : attached)
                                if (key.size() % 2 == part) visit(key, lease);
                            }},
        .saving = {.least_records = 10,
                   .share = 4,
                   .pause = std::chrono::seconds(1),
                   .piece_bytes = 20,
                   .sync_bytes = 60}};
    options.on_lease_attachment = [this](std::string_view key, std::int64_t lease) {
      found[std::string(key)] = lease;
    };
    Reopen();
  }

  std::int64_t LeaseOf(std::string_view key) {
    const auto at = attached.find(std::string(key));
    return at == attached.end() ? 0 : at->second;
  }
  void Kill() {
    found.clear();
    ++options.index_file.seed;
    Reopen();
  }
  void Fill(int from, int to) {
    for (int i = from; i < to; ++i) Put("key " + std::to_string(i), std::to_string(i));
  }
  void Attach(const std::string& key, std::int64_t lease) {
    leases.leases.insert(lease);
    attached[key] = lease;
    Put(key, "v", lease);
  }
  // No further file.
  void Freeze() {
    files.FailPath(SimFileSystem::Operation::kOpen, ".next", SimFileSystem::Fault::kIoError);
  }
  std::int64_t saved_revision() const { return store->metrics().saved_index_revision.load(); }
  std::uint64_t saved_bytes() const { return store->metrics().saved_index_bytes.load(); }
  std::uint64_t later_records() const { return store->metrics().later_records.load(); }
  // By reading every record.
  std::vector<std::string> ShowRebuilt() {
    options.index_file.files = nullptr;
    Reopen();
    options.index_file.files = &files;
    return Show(*store);
  }
  void ExpectLoaded(const std::vector<std::string>& before) {
    Kill();
    EXPECT_TRUE(store->has_loaded_index());
    store->CheckInvariants();
    EXPECT_EQ(Show(*store), before);
    EXPECT_EQ(ShowRebuilt(), before);
  }
  void ExpectLoadedWithLeases() {
    const auto before = Show(*store);
    Kill();
    EXPECT_TRUE(store->has_loaded_index());
    EXPECT_EQ(found, attached);
    ExpectLoaded(before);
  }
  // The start after a kill reads every record.
  void ExpectNotUsed() {
    const auto before = Show(*store);
    Kill();
    EXPECT_FALSE(store->has_loaded_index());
    EXPECT_EQ(Show(*store), before);
  }

  bool may_save = true;
  std::map<std::string, std::int64_t> attached;
  std::map<std::string, std::int64_t> found;  // attachments at the last start
};

TEST_F(IndexSaverTest, AStartAfterAKillReadsItAndTheRecordsAfterIt) {
  Fill(0, 40);
  Settle();
  EXPECT_EQ(saved_revision(), 41);
  EXPECT_EQ(later_records(), 0U);
  Put("key 3", "changed");
  Put("later", "new");
  Delete("key 4");
  Settle();
  EXPECT_EQ(later_records(), 3U);
  const auto before = Show(*store);
  Kill();
  EXPECT_EQ(later_records(), 3U);
  EXPECT_EQ(saved_revision(), 41);
  ExpectLoaded(before);
}

TEST_F(IndexSaverTest, WhatWasNotDurableIsNotInTheStartEither) {
  Fill(0, 40);
  Settle();
  const auto before = Show(*store);
  Put("lost", "v");
  ExpectLoaded(before);
}

TEST_F(IndexSaverTest, NothingIsWrittenWhileFewRecordsAreNew) {
  Fill(0, 9);
  Settle();
  EXPECT_EQ(saved_revision(), 0);
  Fill(9, 40);
  Settle();
  const std::uint64_t bytes = saved_bytes();
  EXPECT_GT(bytes, 0U);
  Fill(0, 9);  // of 49 in all, fewer than a quarter
  Settle();
  EXPECT_EQ(saved_bytes(), bytes);
  Fill(9, 14);
  Settle();
  EXPECT_GT(saved_bytes(), bytes);
  EXPECT_EQ(later_records(), 0U);
  EXPECT_THAT(Ok(files.List("/data")), testing::ElementsAre("db", "db.index"));
}

TEST_F(IndexSaverTest, OneThatACleanStopHasSavedStaysInEffect) {
  Fill(0, 40);
  bool closed = false;
  store->Close([&] { closed = true; });
  Settle();
  ASSERT_TRUE(closed);
  Kill();
  EXPECT_TRUE(store->has_loaded_index());
  Put("later", "v");
  Settle();
  EXPECT_EQ(saved_bytes(), 0U);
  ExpectLoaded(Show(*store));
}

TEST_F(IndexSaverTest, LeasesComeWithTheKeys) {
  Fill(0, 40);
  for (int i = 0; i < 20; ++i) Attach("leased " + std::to_string(i), 5);
  Settle();
  ASSERT_GT(saved_revision(), 0);
  Freeze();
  Attach("leased 3", 6);
  attached.erase("leased 10");
  Put("leased 10", "of none");
  attached.erase("leased 11");
  Delete("leased 11");
  Settle();
  ExpectLoadedWithLeases();
}

// The keys are written one by one, and their leases are copied before: all of it from one state.
TEST_F(IndexSaverTest, ChangesWhileItIsWrittenAreNotInIt) {
  Fill(0, 40);
  for (int i = 0; i < 20; ++i) Attach("leased " + std::to_string(i), 5);
  executors->RunReady();
  executors->clock.Advance(std::chrono::seconds(2));
  const std::int64_t saved = revision();
  int changes = 0;
  while (saved_revision() == 0) {
    executors->clock.Advance(std::chrono::milliseconds(5));
    executors->RunReady();
    ++changes;
    Put("key " + std::to_string(changes % 40), "changed");
    Attach("leased " + std::to_string(changes % 20), 6 + changes % 3);
    if (changes % 5 == 0) Delete("key " + std::to_string(changes % 7));
    ASSERT_LT(changes, 1000);
  }
  EXPECT_GT(changes, 20);
  EXPECT_EQ(saved_revision(), saved);
  Freeze();
  Settle();
  ExpectLoadedWithLeases();
}

TEST_F(IndexSaverTest, ACompactionUpToItsRevisionMayFollow) {
  Fill(0, 40);
  for (int i = 0; i < 10; ++i) Delete("key " + std::to_string(i));
  Settle();
  ASSERT_EQ(saved_revision(), 51);
  Freeze();
  Compact(51);
  Put("later", "v");
  Settle();
  ExpectLoaded(Show(*store));
}

TEST_F(IndexSaverTest, ACompactionOfLaterChangesMayFollow) {
  Fill(0, 40);
  Settle();
  Freeze();
  for (int i = 0; i < 5; ++i) Fill(0, 4);
  Put("new", "1");
  Put("new", "2");
  Compact(revision());
  Put("key 1", "last");
  Settle();
  ExpectLoaded(Show(*store));
}

TEST_F(IndexSaverTest, AfterACompactionOfLaterDeletionsItIsNotUsedAndTheNextIsDue) {
  Fill(0, 40);
  Settle();
  const std::uint64_t bytes = saved_bytes();
  Freeze();
  Delete("key 7");
  Put("other", "v");
  Compact(revision());
  Settle();
  EXPECT_EQ(saved_revision(), 0);
  EXPECT_EQ(saved_bytes(), bytes);
  ExpectNotUsed();
  files.ClearFaults();
  Put("other", "again");
  Settle();
  EXPECT_EQ(saved_revision(), revision());
  ExpectLoaded(Show(*store));
}

// The key was put again, so that its number of revisions is the same.
TEST_F(IndexSaverTest, AKeyDeletedAndMadeAgainSinceIsNotContinued) {
  Fill(0, 40);
  Settle();
  Freeze();
  Delete("key 7");
  Put("other", "v");
  Compact(revision());
  Put("key 7", "again");
  Settle();
  ExpectNotUsed();
}

TEST_F(IndexSaverTest, ADeletionThatItsTxnHasUndoneMayBeOfTheCompactedRevision) {
  Fill(0, 40);
  Settle();
  Freeze();
  WriteTxn txn = store->Begin();
  Ok(txn.DeleteRange(mvcc::Delete("key 7", "")));
  Ok(txn.Put(mvcc::Put("key 7", "back")));
  Ok(txn.DeleteRange(mvcc::Delete("key 8", "")));
  txn.End();
  Publish();
  Compact(revision());
  Settle();
  ExpectLoaded(Show(*store));
}

TEST_F(IndexSaverTest, AnUnfinishedCompactionGoesOn) {
  options.compaction = {.batch_limit = 2, .pause = std::chrono::seconds(1), .index_step = 5};
  Reopen();
  for (int i = 0; i < 3; ++i) Fill(0, 20);
  for (int i = 0; i < 5; ++i) Delete("key " + std::to_string(i));
  Settle();
  ASSERT_EQ(saved_revision(), revision());
  Freeze();
  Compact(revision());
  executors->RunReady();
  executors->clock.Advance(std::chrono::milliseconds(2500));
  executors->RunReady();
  ASSERT_EQ(compactions_finished, 0);
  Kill();
  EXPECT_TRUE(store->has_loaded_index());
  Settle();
  const auto before = Show(*store);
  EXPECT_EQ(before, ShowRebuilt());
}

TEST_F(IndexSaverTest, AnUnfinishedCompactionBeyondItNeedsEveryRecord) {
  options.compaction = {.batch_limit = 2, .pause = std::chrono::seconds(1), .index_step = 5};
  Reopen();
  Fill(0, 40);
  Settle();
  Freeze();
  for (int i = 0; i < 9; ++i) Delete("key " + std::to_string(i));
  Compact(revision());
  executors->RunReady();
  executors->clock.Advance(std::chrono::milliseconds(2500));
  executors->RunReady();
  ASSERT_EQ(compactions_finished, 0);
  Kill();
  EXPECT_FALSE(store->has_loaded_index());
  Settle();
  EXPECT_EQ(store->live_keys(), 31);
}

TEST_F(IndexSaverTest, AStopGivesItUpAndWritesItsOwn) {
  Fill(0, 40);
  executors->RunReady();
  executors->clock.Advance(std::chrono::seconds(2));
  executors->RunReady();
  executors->clock.Advance(std::chrono::milliseconds(4));
  executors->RunReady();
  ASSERT_TRUE(Ok(files.Exists(NextIndexFilePath(DatabasePath()))));
  Put("later", "v");
  const auto before = Show(*store);
  bool closed = false;
  store->Close([&] { closed = true; });
  Settle();
  EXPECT_TRUE(closed);
  EXPECT_EQ(saved_bytes(), 0U);
  EXPECT_THAT(Ok(files.List("/data")), testing::ElementsAre("db", "db.index"));
  Kill();
  EXPECT_EQ(later_records(), 0U);
  ExpectLoaded(before);
}

TEST_F(IndexSaverTest, ADiskWithLittleSpaceIsLeftAlone) {
  options.index_file.saving.free_bytes = 1 << 20;
  Reopen();
  files.SetCapacity(1 << 20);
  Fill(0, 40);
  Settle();
  EXPECT_EQ(saved_revision(), 0);
  EXPECT_THAT(Ok(files.List("/data")), testing::ElementsAre("db"));
}

TEST_F(IndexSaverTest, AnErrorLeavesTheOneOfBefore) {
  Fill(0, 40);
  Settle();
  const std::int64_t saved = saved_revision();
  files.FailPath(SimFileSystem::Operation::kWrite, ".next", SimFileSystem::Fault::kNoSpace);
  Fill(0, 30);
  Settle();
  EXPECT_EQ(saved_revision(), saved);
  EXPECT_THAT(Ok(files.List("/data")), testing::ElementsAre("db", "db.index"));
  ExpectLoaded(Show(*store));
}

TEST_F(IndexSaverTest, FilesThatGetNoNameLeaveTheOneInEffect) {
  Fill(0, 40);
  Settle();
  const std::int64_t saved = saved_revision();
  files.FailPath(SimFileSystem::Operation::kRename, ".next", SimFileSystem::Fault::kIoError);
  for (int i = 0; i < 5; ++i) {
    Fill(0, 20);
    Settle();
  }
  EXPECT_EQ(saved_revision(), saved);
  ExpectLoaded(Show(*store));
}

TEST_F(IndexSaverTest, WithTooManyAttachmentsNoneIsWritten) {
  options.index_file.saving.most_attachments = 10;
  Reopen();
  Fill(0, 20);
  for (int i = 0; i < 11; ++i) Attach("leased " + std::to_string(i), 5);
  Settle();
  EXPECT_EQ(saved_revision(), 0);
}

TEST_F(IndexSaverTest, ADatabaseThatIsKnownToBeDamagedLosesIt) {
  Fill(0, 40);
  Settle();
  ASSERT_GT(saved_revision(), 0);
  may_save = false;
  Fill(0, 30);
  Settle();
  EXPECT_EQ(saved_revision(), 0);
  EXPECT_THAT(Ok(files.List("/data")), testing::ElementsAre("db"));
}

TEST_F(IndexSaverTest, AnotherMembersContentIsNotThatOfTheOneBeingWritten) {
  Fill(0, 40);
  Settle();
  Ok(WriteFileAtomically(files, "/data/received",
                         Ok(ReadWholeFile(files, DatabasePath(), 1 << 20))));
  const std::uint64_t received = index;
  Fill(0, 30);
  executors->RunReady();
  executors->clock.Advance(std::chrono::seconds(12));
  executors->RunReady();
  ASSERT_TRUE(Ok(files.Exists(NextIndexFilePath(DatabasePath()))));
  bool installed = false;
  store->Install({.open = Opener(),
                  .snapshot_path = "/data/received",
                  .path = DatabasePath(),
                  .consistent_index = received,
                  .side_version = 0,
                  .load = nullptr},
                 [&] { installed = true; });
  executors->RunReady();
  executors->clock.Advance(std::chrono::milliseconds(10));
  executors->RunReady();
  EXPECT_TRUE(installed);
  EXPECT_THAT(Ok(files.List("/data")), testing::ElementsAre("db"));
  EXPECT_EQ(saved_revision(), 0);
  const auto before = Show(*store);
  index = received;
  Put("later", "v");
  Settle();
  EXPECT_EQ(saved_revision(), revision());
  EXPECT_NE(Show(*store), before);
  ExpectLoaded(Show(*store));
}

TEST_F(IndexSaverTest, ADamagedOneIsNotUsed) {
  Fill(0, 12);
  Settle();
  ASSERT_GT(saved_revision(), 0);
  Freeze();
  Put("key 3", "later");
  Settle();
  const auto before = Show(*store);
  const auto size = Ok(ReadWholeFile(files, IndexFilePath(DatabasePath()), 1 << 20)).size();
  for (std::size_t at = 0; at < size; ++at) {
    ASSERT_TRUE(files.Corrupt(IndexFilePath(DatabasePath()), at, 4));
    Kill();
    EXPECT_FALSE(store->has_loaded_index()) << at;
    EXPECT_EQ(Show(*store), before);
    ASSERT_TRUE(files.Corrupt(IndexFilePath(DatabasePath()), at, 4));
  }
  ExpectLoaded(before);
}

// A file that is sound, and whose database has lost a record since: as many revisions too many.
TEST_F(IndexSaverTest, ADatabaseThatHasLostARecordIsNotTakenForWhole) {
  Fill(0, 40);
  Settle();
  Freeze();
  Put("other", "v");
  Settle();
  WriteBatch batch;
  batch.deletions.push_back({.main = 7, .sub = 0});
  Ok(backend->Commit(batch));
  Kill();
  EXPECT_FALSE(store->has_loaded_index());
  EXPECT_EQ(store->live_keys(), 40);
}

// Histories of all kinds, with the power cut at any write: the index of a start with the file is
// that of one without.
class RandomHistory : public IndexSaverTest {
 protected:
  RandomHistory() {
    options.compaction = {
        .batch_limit = 3, .pause = std::chrono::milliseconds(200), .index_step = 4};
    options.index_file.saving.pause = std::chrono::milliseconds(500);
    options.index_file.saving.share = 3;
    Reopen();
  }

  void Step(Rng& rng) {
    const std::string key = "key " + std::to_string(rng.Below(25));
    switch (rng.Below(8)) {
      case 0:
        attached.erase(key);
        Delete(key);
        break;
      case 1:
        Attach(key, 1 + static_cast<std::int64_t>(rng.Below(3)));
        break;
      case 2: {
        WriteTxn txn = store->Begin();
        for (int i = 0; i < 3; ++i) {
          const std::string other = "key " + std::to_string(rng.Below(25));
          attached.erase(other);
          Ok(txn.DeleteRange(mvcc::Delete(other, "")));
          if (rng.OneIn(2)) Ok(txn.Put(mvcc::Put(other, "again")));
        }
        txn.End();
        Publish();
        break;
      }
      case 3:
        if (rng.OneIn(6)) {
          const auto behind = static_cast<std::int64_t>(rng.Below(20));
          static_cast<void>(TryCompact(std::max<std::int64_t>(revision() - behind, 1)));
        }
        break;
      default:
        attached.erase(key);
        Put(key, "v");
    }
    for (std::uint64_t n = rng.Below(8); n > 0; --n) executors->RunOneOf(rng);
    executors->clock.Advance(std::chrono::milliseconds(rng.Below(40)));
  }

  struct Opened {
    std::vector<std::string> shown;
    std::map<std::string, std::int64_t> attached;
    bool is_loaded = false;
  };
  Opened OpenImage(SimFileSystem& image, bool with_file) {
    Opened opened;
    ManualExecutors other;
    StoreOptions after = options;
    after.index_file.files = with_file ? &image : nullptr;
    after.on_lease_attachment = [&](std::string_view key, std::int64_t lease) {
      opened.attached[std::string(key)] = lease;
    };
    after.commit.on_durable = nullptr;
    const auto started =
        Ok(Store::Open(after, Ok(OpenMemoryBackend(image, DatabasePath())),
                       {.apply = other.apply, .backend = other.backend, .copier = other.copier}));
    started->CheckInvariants();
    opened.shown = Show(*started);
    opened.is_loaded = started->has_loaded_index();
    return opened;
  }
};

TEST_F(RandomHistory, AStartAtAnyPowerCutMakesTheSameOfItAsOfTheRecords) {
  const char* seed_text = std::getenv("KVORUM_SEED");
  const std::uint64_t base = seed_text != nullptr ? std::strtoull(seed_text, nullptr, 10) : 1;
  std::uint64_t loaded = 0;
  std::uint64_t with_later = 0;
  std::uint64_t starts = 0;
  for (std::uint64_t seed = base * 100; seed < base * 100 + 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Rng crash_rng(seed);
    files.SetObserver([&] {
      if (!crash_rng.OneIn(6)) return;
      const SimFileSystem::Keep keep =
          SimFileSystem::kAllKeeps[crash_rng.Below(SimFileSystem::kAllKeeps.size())];
      const auto image = files.CrashImage(keep, crash_rng);
      const Opened fast = OpenImage(*image, /*with_file=*/true);
      const Opened slow = OpenImage(*image, /*with_file=*/false);
      ASSERT_EQ(fast.shown, slow.shown);
      ASSERT_EQ(fast.attached, slow.attached);
      ++starts;
      loaded += fast.is_loaded ? 1 : 0;
    });
    for (int i = 0; i < 400 && !HasFatalFailure(); ++i) {
      Step(rng);
      if (rng.OneIn(80)) {
        files.SetObserver(nullptr);
        Kill();
        // Changes that were not durable are gone.
        attached = found;
        with_later += store->has_loaded_index() && later_records() > 0 ? 1 : 0;
        break;
      }
    }
    files.SetObserver(nullptr);
  }
  EXPECT_GT(starts, 200U);
  EXPECT_GT(loaded, starts / 4) << "of " << starts;
  EXPECT_LT(loaded, starts);
  EXPECT_GT(with_later, 0U);
}

class OnDisk : public IndexSaverTest {
 protected:
  OnDisk() : IndexSaverTest(Kind::kLmdb) {}
};

TEST_F(OnDisk, AStartAfterAKillReadsIt) {
  Fill(0, 40);
  Settle();
  ASSERT_GT(saved_revision(), 0);
  Put("key 3", "later");
  store->Defragment([](const Result<void>& done) { Ok(done); });
  Settle();
  const auto before = Show(*store);
  Kill();
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(Show(*store), before);
}

}  // namespace
}  // namespace kvorum::mvcc
