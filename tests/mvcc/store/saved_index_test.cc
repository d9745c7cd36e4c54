// A store whose key index is saved when it is closed: the next start reads it, unless the database
// is another.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "base/failpoint/failpoint_control.h"
#include "mvcc/index/index_file.h"
#include "mvcc/records/bucket.h"
#include "mvcc/transfer/etcd_content.h"
#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

class SavedIndexTest : public testing::Test, public StoreHarness {
 protected:
  SavedIndexTest() {
    SetLogLevel(LogLevel::kError);
    options.index_file = {.files = &files,
                          .database_path = DatabasePath(),
                          .seed = 1,
                          .may_save = [this] { return may_save; },
                          .lease_of =
                              [this](std::string_view key) {
                                const auto found = attached.find(std::string(key));
                                return found == attached.end() ? 0 : found->second;
                              }};
    options.on_lease_attachment = [this](std::string_view key, std::int64_t lease) {
      found[std::string(key)] = lease;
    };
    Reopen();
  }

  // Returns false if the store does not close.
  bool Close() {
    bool closed = false;
    store->Close([&] { closed = true; });
    Settle();
    return closed;
  }
  void Stop() {
    ASSERT_TRUE(Close());
    store.reset();
    ++options.index_file.seed;
  }
  void Start() {
    found.clear();
    Reopen();
  }
  void Restart() {
    Stop();
    Start();
  }
  void Attach(std::string_view key, std::int64_t lease) {
    leases.leases.insert(lease);
    attached[std::string(key)] = lease;
    Put(key, "v", lease);
  }
  bool HasFile() { return Ok(files.Exists(IndexFilePath(DatabasePath()))); }

  // Everything that a client can see, and what the index knows beyond.
  std::vector<std::string> Everything() {
    std::vector<std::string> all;
    for (std::int64_t at = std::max<std::int64_t>(store->compact_revision(), 1); at <= revision();
         ++at) {
      all.push_back("at " + std::to_string(at));
      RangeRequest request = GetAll();
      request.revision = at;
      for (const std::string& row : Rows(request)) all.push_back(row);
      // That of a compaction's own revision is kept from before it, and not across a start.
      if (at > store->compact_revision())
        all.push_back("hash " + std::to_string(Ok(store->HashKv(at)).hash));
    }
    all.push_back("hash " + std::to_string(Ok(store->HashKv(0)).hash));
    all.push_back("live " + std::to_string(store->live_keys()));
    return all;
  }
  // By reading every record.
  std::vector<std::string> EverythingRebuilt() {
    options.index_file.files = nullptr;
    Reopen();
    const auto all = Everything();
    options.index_file.files = &files;
    return all;
  }
  void FillWithGenerations() {
    for (const char* key : {"a", "b", "c", "d"}) Put(key, "1");
    Put("b", "2");
    Delete("c");
    Put("c", "3");
    Delete("d");
    Attach("leased", 5);
    Attach("moved", 6);
    Attach("moved", 5);
  }

  bool may_save = true;
  std::map<std::string, std::int64_t> attached;
  std::map<std::string, std::int64_t> found;  // attachments at the last start
};

TEST_F(SavedIndexTest, TheStartAfterACleanStopReadsIt) {
  FillWithGenerations();
  const auto before = Everything();
  Restart();
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(Everything(), before);
  EXPECT_EQ(found, attached);
  store->CheckInvariants();
  const std::map<std::string, std::int64_t> loaded = found;
  EXPECT_EQ(EverythingRebuilt(), before);
  EXPECT_EQ(found, loaded);
}

TEST_F(SavedIndexTest, OfAnEmptyStoreToo) {
  Restart();
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(revision(), 1);
  Put("a", "v");
  EXPECT_EQ(revision(), 2);
}

TEST_F(SavedIndexTest, StartsAndStopsWithoutAWriteGoOnWithIt) {
  FillWithGenerations();
  const auto before = Everything();
  for (int i = 0; i < 3; ++i) {
    Restart();
    EXPECT_TRUE(store->has_loaded_index());
  }
  Start();  // killed, before any write
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(Everything(), before);
}

TEST_F(SavedIndexTest, WritesLeaveItInEffect) {
  FillWithGenerations();
  Restart();
  EXPECT_TRUE(HasFile());
  Put("e", "v");
  Delete("a");
  Settle();
  EXPECT_TRUE(HasFile());
  const auto before = Everything();
  Start();  // killed
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(Everything(), before);
  EXPECT_EQ(EverythingRebuilt(), before);
}

TEST_F(SavedIndexTest, ACompactionMayComeInBetween) {
  FillWithGenerations();
  Compact(8);
  Settle();
  Restart();
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(store->compact_revision(), 8);
  Delete("b");
  Put("c", "4");
  Compact(revision() - 1);
  Settle();
  const auto before = Everything();
  Restart();
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(Everything(), before);
  EXPECT_EQ(EverythingRebuilt(), before);
}

TEST_F(SavedIndexTest, ADatabaseThatWasReplacedDoesNotMeetIt) {
  FillWithGenerations();
  Stop();
  const std::string older = Ok(ReadWholeFile(files, DatabasePath(), 1 << 20));
  Start();
  Put("a", "another");
  Settle();
  const auto replaced = Everything();
  Stop();
  const std::string newer = Ok(ReadWholeFile(files, DatabasePath(), 1 << 20));
  const std::string index_of_newer =
      Ok(ReadWholeFile(files, IndexFilePath(DatabasePath()), 1 << 20));
  // The older database is put back beside the newer one's index.
  Ok(WriteFileAtomically(files, DatabasePath(), older));
  Start();
  EXPECT_FALSE(store->has_loaded_index());
  EXPECT_NE(Everything(), replaced);
  store.reset();
  Ok(WriteFileAtomically(files, DatabasePath(), newer));
  Ok(WriteFileAtomically(files, IndexFilePath(DatabasePath()), index_of_newer));
  Start();
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(Everything(), replaced);
}

TEST_F(SavedIndexTest, ItsMarkIsNoPartOfWhatMembersOrEtcdsToolsSee) {
  FillWithGenerations();
  Settle();
  const std::uint32_t before = Ok(store->HashBackend()).hash;
  Restart();
  bool is_there = false;
  Ok(store->ForEach(Bucket::kMeta, [&](std::string_view key, std::string_view) {
    is_there = is_there || key == meta_key::kIndexMark;
  }));
  EXPECT_TRUE(is_there);
  EXPECT_EQ(Ok(store->HashBackend()).hash, before);
  EXPECT_FALSE(IsEtcds(Bucket::kMeta, meta_key::kIndexMark));
  EXPECT_TRUE(IsEtcds(Bucket::kMeta, meta_key::kConsistentIndex));
}

TEST_F(SavedIndexTest, ADamagedOneIsNotUsed) {
  FillWithGenerations();
  const auto before = Everything();
  Stop();
  const auto size = Ok(ReadWholeFile(files, IndexFilePath(DatabasePath()), 1 << 20)).size();
  for (const std::size_t at : {std::size_t{20}, std::size_t{60}, size / 2, size - 1}) {
    ASSERT_TRUE(files.Corrupt(IndexFilePath(DatabasePath()), at, 4));
    Start();
    EXPECT_FALSE(store->has_loaded_index()) << at;
    EXPECT_EQ(Everything(), before);
    EXPECT_EQ(found, attached);
    store.reset();
    ASSERT_TRUE(files.Corrupt(IndexFilePath(DatabasePath()), at, 4));
  }
  Start();
  EXPECT_TRUE(store->has_loaded_index());
}

TEST_F(SavedIndexTest, OneThatCannotBeReadIsNotUsed) {
  FillWithGenerations();
  const auto before = Everything();
  Stop();
  files.FailPath(SimFileSystem::Operation::kRead, ".index", SimFileSystem::Fault::kIoError);
  Start();
  EXPECT_FALSE(store->has_loaded_index());
  EXPECT_EQ(Everything(), before);
}

TEST_F(SavedIndexTest, NoneIsWrittenOfADatabaseThatIsKnownToBeDamaged) {
  may_save = false;
  FillWithGenerations();
  Restart();
  EXPECT_FALSE(HasFile());
  EXPECT_FALSE(store->has_loaded_index());
}

TEST_F(SavedIndexTest, OneOfBeforeGoesWhenTheDatabaseIsKnownToBeDamaged) {
  FillWithGenerations();
  Restart();
  ASSERT_TRUE(HasFile());
  may_save = false;
  Stop();
  EXPECT_FALSE(HasFile());
}

TEST_F(SavedIndexTest, NoneIsWrittenWhileACompactionIsUnfinished) {
  options.compaction = {.batch_limit = 2, .pause = std::chrono::seconds(1), .index_step = 5};
  Reopen();
  FillWithGenerations();
  for (int i = 0; i < 20; ++i) Put("a", std::to_string(i));
  Compact(revision());
  executors->RunReady();
  bool closed = false;
  store->Close([&] { closed = true; });
  executors->RunReady();
  EXPECT_TRUE(closed);
  EXPECT_FALSE(HasFile());
}

TEST_F(SavedIndexTest, NoneIsWrittenInTheMiddleOfABatch) {
  FillWithGenerations();
  WriteTxn txn = store->Begin();
  Ok(txn.Put(mvcc::Put("unpublished", "v")));
  txn.End();
  ASSERT_TRUE(Close());
  EXPECT_FALSE(HasFile());
}

TEST_F(SavedIndexTest, AFullDiskKeepsNoStoreFromClosing) {
  FillWithGenerations();
  Settle();
  const auto before = Everything();
  files.FailPath(SimFileSystem::Operation::kWrite, ".index", SimFileSystem::Fault::kNoSpace);
  Stop();
  files.ClearFaults();
  EXPECT_THAT(Ok(files.List("/data")), testing::ElementsAre("db"));
  Start();
  EXPECT_FALSE(store->has_loaded_index());
  EXPECT_EQ(Everything(), before);
}

// The power goes off at every write operation from the stop to the writes after the next start.
TEST_F(SavedIndexTest, APowerCutAtAnyPointCostsNothingButTheTime) {
  FillWithGenerations();
  Settle();
  std::map<std::int64_t, std::vector<std::string>> by_revision;
  by_revision[revision()] = Everything();
  int crashes = 0;
  std::set<bool> loaded;
  Rng rng(3);
  const auto crash_here = [&] {
    for (const SimFileSystem::Keep keep : SimFileSystem::kAllKeeps) {
      const auto image = files.CrashImage(keep, rng);
      ManualExecutors other;
      StoreOptions after = options;
      after.index_file.files = image.get();
      after.on_lease_attachment = nullptr;
      const auto opened =
          Ok(Store::Open(after, Ok(OpenMemoryBackend(*image, DatabasePath())),
                         {.apply = other.apply, .backend = other.backend, .copier = other.copier}));
      const std::uint64_t durable = durable_index;  // the callback is shared
      other.RunAll();
      durable_index = durable;
      opened->CheckInvariants();
      ReadView view = Ok(opened->Read());
      ASSERT_TRUE(by_revision.contains(opened->revision()));
      const auto& expected = by_revision.at(opened->revision());
      EXPECT_EQ("hash " + std::to_string(Ok(view.HashKv(0)).hash), expected[expected.size() - 2]);
      EXPECT_EQ("live " + std::to_string(opened->live_keys()), expected.back());
      loaded.insert(opened->has_loaded_index());
      ++crashes;
    }
  };
  files.SetObserver(crash_here);
  Stop();
  Start();
  EXPECT_TRUE(store->has_loaded_index());
  Put("later", "v");
  by_revision[revision()] = Everything();
  Settle();
  files.SetObserver(nullptr);
  EXPECT_GT(crashes, 30);
  EXPECT_EQ(loaded.size(), 2U) << "no crash came before, or none after";
}

TEST_F(SavedIndexTest, AnotherMembersSnapshotRemovesIt) {
  FillWithGenerations();
  Stop();
  Ok(WriteFileAtomically(files, "/data/received",
                         Ok(ReadWholeFile(files, DatabasePath(), 1 << 20))));
  Start();
  ASSERT_TRUE(HasFile());
  bool installed = false;
  store->Install({.open = Opener(),
                  .snapshot_path = "/data/received",
                  .path = DatabasePath(),
                  .consistent_index = index,
                  .side_version = 0,
                  .load = nullptr},
                 [&] { installed = true; });
  Settle();
  EXPECT_TRUE(installed);
  EXPECT_FALSE(HasFile());
}

// Over LMDB and a real folder.
class SavedIndexOnDiskTest : public testing::Test, public StoreHarness {
 protected:
  SavedIndexOnDiskTest() : StoreHarness(Kind::kLmdb) {
    SetLogLevel(LogLevel::kError);
    options.index_file.files = &PosixFileSystem();
    options.index_file.database_path = DatabasePath();
    Reopen();
  }
  void Stop() {
    bool closed = false;
    store->Close([&] { closed = true; });
    Settle();
    ASSERT_TRUE(closed);
    store.reset();
    ++options.index_file.seed;
  }
  std::vector<std::string> Everything() {
    std::vector<std::string> all = Rows(GetAll());
    all.push_back(std::to_string(Ok(store->HashKv(0)).hash));
    return all;
  }
};

TEST_F(SavedIndexOnDiskTest, TheStartAfterACleanStopReadsIt) {
  for (int i = 0; i < 100; ++i) Put("key " + std::to_string(i % 30), std::to_string(i));
  const auto before = Everything();
  Stop();
  Reopen();
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(Everything(), before);
  Put("later", "v");
  Settle();
  Reopen();
  EXPECT_TRUE(store->has_loaded_index());
}

TEST_F(SavedIndexOnDiskTest, ADefragmentedDatabaseKeepsIt) {
  Put("a", "v");
  Stop();
  Reopen();
  store->Defragment([](const Result<void>& done) { Ok(done); });
  Settle();
  Reopen();
  EXPECT_TRUE(store->has_loaded_index());
  EXPECT_EQ(Keys(GetAll()), std::vector<std::string>{"a"});
}

TEST_F(SavedIndexOnDiskTest, AProcessThatEndsAtAnyPointCostsNothingButTheTime) {
  for (int i = 0; i < 100; ++i) Put("key " + std::to_string(i % 30), std::to_string(i));
  const auto before = Everything();
  Stop();
  const std::map<std::string, bool> points = {
      {"saveIndexBeforeHeader", false},      {"saveIndexBeforeSync", false},
      {"saveIndexBeforeRename", false},      {"saveIndexBeforeDirectorySync", true},
      {"saveIndexAfterDirectorySync", true},
  };
  for (const auto& [point, is_whole] : points) {
    SCOPED_TRACE(point);
    ASSERT_TRUE(PosixFileSystem().Remove(IndexFilePath(DatabasePath())).has_value());
    EXPECT_DEATH(
        {
          Reopen();
          Ok(failpoint::Set(point, "panic"));
          Stop();
        },
        "");
    Reopen();
    EXPECT_EQ(store->has_loaded_index(), is_whole);
    EXPECT_EQ(Everything(), before);
    Stop();
  }
}

}  // namespace
}  // namespace kvorum::mvcc
