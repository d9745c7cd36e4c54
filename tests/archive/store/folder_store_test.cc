#include "archive/store/folder_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/disk/sim_file_system.h"
#include "tests/manual_clock.h"

namespace kvorum::archive {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Keep = SimFileSystem::Keep;

std::unique_ptr<FolderStore> OpenFolder(FileSystem& files, const Clock& clock,
                                        const StopSignal& stop, const std::string& folder,
                                        bool read_only = false) {
  auto store =
      FolderStore::Open(files, clock, stop, {.folder = folder, .read_only = read_only, .seed = 7});
  EXPECT_TRUE(store.has_value()) << store.error().text;
  return store.has_value() ? std::move(*store) : nullptr;
}

std::vector<std::string> KeysOf(ObjectStore& store, const ListOptions& options = {}) {
  std::vector<std::string> keys;
  const auto listed = store.List(options, [&](std::string_view key, std::uint64_t) {
    keys.emplace_back(key);
    return true;
  });
  EXPECT_TRUE(listed.has_value()) << listed.error().text;
  return keys;
}

// Over the machine's disk and the simulated one.
class FolderStoreTest : public testing::TestWithParam<bool> {
 protected:
  FolderStoreTest() {
    if (is_simulated()) {
      files_ = &disk_;
      folder_ = "/backup/kv";
    } else {
      std::string pattern = testing::TempDir() + "/folder_store_test.XXXXXX";
      EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
      root_ = pattern;
      files_ = &PosixFileSystem();
      folder_ = root_ + "/backup/kv";
    }
    store_ = OpenFolder(*files_, clock_, stop_, folder_);
  }
  ~FolderStoreTest() override {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }
  static bool is_simulated() { return GetParam(); }

  void Put(const std::string& key, std::string_view bytes) {
    const auto put = store_->Put(key, bytes, {});
    ASSERT_TRUE(put.has_value()) << put.error().text;
  }
  std::string Content(const std::string& key) {
    const auto content = ReadObject(*store_, key, kMaxObjectBytes);
    return content.has_value() ? *content
                               : "(" + std::string(StoreErrorName(content.error().kind)) + ")";
  }

  ManualClock clock_;
  StopSignal stop_;
  SimFileSystem disk_;
  std::string root_;
  FileSystem* files_ = nullptr;
  std::string folder_;
  std::unique_ptr<FolderStore> store_;
};

INSTANTIATE_TEST_SUITE_P(All, FolderStoreTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Sim" : "Posix"; });

TEST_P(FolderStoreTest, AnObjectIsReadAsItWasWrittenWholeOrInPart) {
  const std::string bytes(200'000, 'x');
  Put("h/log/1.gz", bytes + "end");
  EXPECT_EQ(Content("h/log/1.gz"), bytes + "end");
  std::string part;
  const auto got = store_->Get("h/log/1.gz", {.offset = 199'999, .length = 3},
                               [&](std::string_view piece) -> StoreResult<void> {
                                 EXPECT_LE(piece.size(), kMaxPieceBytes);
                                 part += piece;
                                 return {};
                               });
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->size_bytes, 200'003u);
  EXPECT_EQ(part, "xen");
  EXPECT_EQ(store_->Head("h/log/1.gz")->size_bytes, 200'003u);
}

TEST_P(FolderStoreTest, APutReplacesUnlessItIsOnlyForAnAbsentObject) {
  Put("a/mark.json", "one");
  Put("a/mark.json", "two");
  EXPECT_EQ(Content("a/mark.json"), "two");
  const auto refused = store_->Put("a/mark.json", "three", {.if_absent = true});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreErrorKind::kExists);
  EXPECT_EQ(Content("a/mark.json"), "two");
  EXPECT_TRUE(store_->Put("a/new", "three", {.if_absent = true}).has_value());
  EXPECT_EQ(Content("a/new"), "three");
  EXPECT_THAT(files_->List(folder_ + "/.tmp").value(), IsEmpty());
}

TEST_P(FolderStoreTest, AListHasTheOrderOfTheKeysBytes) {
  for (const char* key : {"b/2", "a", "b-1", "b/10", "b.x", "c/d/e"}) Put(key, "x");
  EXPECT_THAT(KeysOf(*store_), ElementsAre("a", "b-1", "b.x", "b/10", "b/2", "c/d/e"));
  EXPECT_THAT(KeysOf(*store_, {.prefix = "b", .after = ""}),
              ElementsAre("b-1", "b.x", "b/10", "b/2"));
  EXPECT_THAT(KeysOf(*store_, {.prefix = "b/", .after = ""}), ElementsAre("b/10", "b/2"));
  EXPECT_THAT(KeysOf(*store_, {.prefix = "b/2", .after = ""}), ElementsAre("b/2"));
  EXPECT_THAT(KeysOf(*store_, {.prefix = "", .after = "b-1"}),
              ElementsAre("b.x", "b/10", "b/2", "c/d/e"));
  EXPECT_THAT(KeysOf(*store_, {.prefix = "", .after = "b/10"}), ElementsAre("b/2", "c/d/e"));
  EXPECT_THAT(KeysOf(*store_, {.prefix = "none", .after = ""}), IsEmpty());
  int calls = 0;
  EXPECT_TRUE(
      store_->List({}, [&](std::string_view, std::uint64_t) { return ++calls < 2; }).has_value());
  EXPECT_EQ(calls, 2);
}

TEST_P(FolderStoreTest, DeletionTakesEmptyFoldersAlongAndAnAbsentKeyIsFine) {
  Put("h/base/1/part", "x");
  Put("h/mark", "x");
  const std::vector<std::string> keys = {"h/base/1/part", "h/base/2/part", "absent"};
  EXPECT_THAT(store_->Delete(keys).value(), IsEmpty());
  EXPECT_THAT(KeysOf(*store_), ElementsAre("h/mark"));
  EXPECT_FALSE(files_->Exists(folder_ + "/h/base").value());
  Put("h/base/1/part", "again");
  EXPECT_EQ(Content("h/base/1/part"), "again");
  EXPECT_EQ(Content("h/base/2/part"), "(absent)");
}

TEST_P(FolderStoreTest, AFolderThatGoesMeanwhileIsMadeAgain) {
  Put("h/log/1", "x");
  const auto other = OpenFolder(*files_, clock_, stop_, folder_);
  const std::vector<std::string> keys = {"h/log/1"};
  EXPECT_THAT(other->Delete(keys).value(), IsEmpty());
  ASSERT_FALSE(files_->Exists(folder_ + "/h").value());
  Put("h/log/2", "x");
  EXPECT_EQ(Content("h/log/2"), "x");
}

TEST_P(FolderStoreTest, NoKeyLeadsOutOfTheFolder) {
  for (const char* key : {"", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", ".tmp/x",
                          "a b", "a\\b", "a%2e", "\xC3\xA9"}) {
    EXPECT_EQ(store_->Put(key, "x", {}).error().kind, StoreErrorKind::kInvalid) << key;
    EXPECT_EQ(store_->Head(key).error().kind, StoreErrorKind::kInvalid) << key;
    const std::vector<std::string> keys = {key};
    EXPECT_EQ(store_->Delete(keys).value().size(), 1u) << key;
  }
  EXPECT_EQ(store_->Put(std::string(kMaxKeyBytes + 1, 'a'), "x", {}).error().kind,
            StoreErrorKind::kInvalid);
}

TEST_P(FolderStoreTest, AnObjectOfMoreThan64MiBIsRefused) {
  EXPECT_EQ(store_->Put("big", std::string(kMaxObjectBytes + 1, 'x'), {}).error().kind,
            StoreErrorKind::kInvalid);
  EXPECT_EQ(Content("big"), "(absent)");
}

TEST_P(FolderStoreTest, TheSinksErrorEndsTheGet) {
  Put("a", std::string(2 * kMaxPieceBytes, 'x'));
  int pieces = 0;
  const auto got = store_->Get("a", {}, [&](std::string_view) -> StoreResult<void> {
    ++pieces;
    return StoreFail(StoreErrorKind::kFull, "my disk is full");
  });
  EXPECT_EQ(got.error(), (StoreError{StoreErrorKind::kFull, "my disk is full"}));
  EXPECT_EQ(pieces, 1);
}

TEST_P(FolderStoreTest, AStoppedStoreRefusesCalls) {
  Put("a", "x");
  stop_.Stop();
  EXPECT_EQ(store_->Put("b", "x", {}).error().kind, StoreErrorKind::kStopped);
  EXPECT_EQ(store_->Head("a").error().kind, StoreErrorKind::kStopped);
}

TEST_P(FolderStoreTest, AReadOnlyStoreWritesNothing) {
  Put("a", "x");
  const auto reader = OpenFolder(*files_, clock_, stop_, folder_, true);
  EXPECT_EQ(reader->Put("b", "x", {}).error().kind, StoreErrorKind::kDenied);
  const std::vector<std::string> keys = {"a"};
  EXPECT_EQ(reader->Delete(keys).error().kind, StoreErrorKind::kDenied);
  EXPECT_THAT(KeysOf(*reader), ElementsAre("a"));
  const auto absent =
      FolderStore::Open(*files_, clock_, stop_, {.folder = folder_ + "/none", .read_only = true});
  EXPECT_EQ(absent.error().kind, StoreErrorKind::kAbsent);
}

TEST_P(FolderStoreTest, WhatACrashLeftIsRemovedADayLater) {
  const std::string old =
      folder_ + "/.tmp/" + std::to_string(clock_.WallNanos() / 1'000'000) + "-0";
  ASSERT_TRUE(files_->Open(old, FileSystem::OpenMode::kCreate).has_value());
  clock_.Advance(std::chrono::hours(23));
  OpenFolder(*files_, clock_, stop_, folder_);
  EXPECT_TRUE(files_->Exists(old).value());
  clock_.Advance(std::chrono::hours(2));
  OpenFolder(*files_, clock_, stop_, folder_);
  EXPECT_FALSE(files_->Exists(old).value());
}

class FolderOnDiskTest : public testing::Test {
 protected:
  FolderOnDiskTest() {
    std::string pattern = testing::TempDir() + "/folder_on_disk_test.XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    store_ = OpenFolder(PosixFileSystem(), clock_, stop_, root_ + "/kv");
  }
  ~FolderOnDiskTest() override { std::filesystem::remove_all(root_); }

  ManualClock clock_;
  StopSignal stop_;
  std::string root_;
  std::unique_ptr<FolderStore> store_;
};

TEST_F(FolderOnDiskTest, OnlyTheOwnerMayReadIt) {
  ASSERT_TRUE(store_->Put("h/a", "x", {}).has_value());
  struct stat status = {};
  ASSERT_EQ(::stat((root_ + "/kv/h/a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat((root_ + "/kv/h").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(FolderOnDiskTest, SymbolicLinksAreNotFollowed) {
  std::filesystem::create_directory(root_ + "/outside");
  std::ofstream(root_ + "/outside/secret") << "secret";
  std::filesystem::create_symlink(root_ + "/outside", root_ + "/kv/linked");
  std::filesystem::create_symlink(root_ + "/outside/secret", root_ + "/kv/file");
  const auto sink = [](std::string_view) -> StoreResult<void> { return {}; };
  EXPECT_EQ(store_->Get("linked/secret", {}, sink).error().kind, StoreErrorKind::kInvalid);
  EXPECT_EQ(store_->Get("file", {}, sink).error().kind, StoreErrorKind::kInvalid);
  EXPECT_EQ(store_->Put("linked/new", "x", {}).error().kind, StoreErrorKind::kInvalid);
  EXPECT_EQ(store_->Put("file", "x", {}).error().kind, StoreErrorKind::kInvalid);
  const std::vector<std::string> keys = {"linked/secret", "file"};
  EXPECT_EQ(store_->Delete(keys).value().size(), 2u);
  EXPECT_THAT(KeysOf(*store_), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(root_ + "/outside/secret"));
}

// The power goes at each of the operations of a run in turn, with each fate that the disk has for
// what was not synced: each object is whole or absent, and those whose Put had returned are there.
class FolderCrashTest : public testing::TestWithParam<Keep> {
 protected:
  static constexpr std::size_t kObjects = 3;
  static std::string KeyOf(std::size_t i) { return "h/log/" + std::to_string(i); }
  static std::string BytesOf(std::size_t i) {
    return std::string(1500, static_cast<char>('a' + i));
  }

  // The number of Puts that returned ok.
  std::size_t Run(SimFileSystem& disk) {
    auto store = FolderStore::Open(disk, clock_, stop_, {.folder = "/backup/kv", .seed = 7});
    if (!store.has_value()) return 0;
    for (std::size_t i = 0; i < kObjects; ++i) {
      if (!(*store)->Put(KeyOf(i), BytesOf(i), {.if_absent = i != 1}).has_value()) return i;
    }
    return kObjects;
  }

  ManualClock clock_;
  StopSignal stop_;
};

INSTANTIATE_TEST_SUITE_P(All, FolderCrashTest, testing::ValuesIn(SimFileSystem::kAllKeeps));

TEST_P(FolderCrashTest, AnObjectIsWholeOrAbsentWhenThePowerGoes) {
  std::uint64_t operations = 0;
  {
    SimFileSystem disk;
    ASSERT_EQ(Run(disk), kObjects);
    operations = disk.operations();
  }
  ASSERT_GT(operations, 20u);
  for (std::uint64_t at = 1; at <= operations; ++at) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SimFileSystem disk;
      disk.PowerOffAt(at);
      const std::size_t done = Run(disk);
      Rng rng(seed);
      disk.Crash(GetParam(), rng);
      auto store = FolderStore::Open(disk, clock_, stop_, {.folder = "/backup/kv", .seed = 8});
      ASSERT_TRUE(store.has_value()) << store.error().text;
      std::size_t listed = 0;
      const auto list = (*store)->List({}, [&](std::string_view key, std::uint64_t) {
        const std::size_t i = static_cast<std::size_t>(key.back() - '0');
        EXPECT_EQ(ReadObject(**store, std::string(key), kMaxObjectBytes).value_or("?"), BytesOf(i));
        ++listed;
        return true;
      });
      ASSERT_TRUE(list.has_value()) << list.error().text;
      EXPECT_GE(listed, done) << "power off at operation " << at;
    }
  }
}

// A process that dies between the rename and the sync of the folder leaves an object whose name is
// not durable. The next one finds it, and goes on behind it.
TEST_P(FolderCrashTest, WhatAListOrARefusedPutShowsIsDurable) {
  for (const bool by_list : {false, true}) {
    SimFileSystem disk;
    disk.LeaveOutSyncs([](const std::string& path) { return path.ends_with("/log"); });
    ASSERT_EQ(Run(disk), kObjects);
    disk.LeaveOutSyncs(nullptr);
    auto store = FolderStore::Open(disk, clock_, stop_, {.folder = "/backup/kv", .seed = 8});
    ASSERT_TRUE(store.has_value());
    if (by_list) {
      ASSERT_THAT(KeysOf(**store), ElementsAre("h/log/0", "h/log/1", "h/log/2"));
    } else {
      ASSERT_EQ((*store)->Put(KeyOf(2), "x", {.if_absent = true}).error().kind,
                StoreErrorKind::kExists);
    }
    Rng rng(1);
    disk.Crash(GetParam(), rng);
    EXPECT_THAT(KeysOf(**store), ElementsAre("h/log/0", "h/log/1", "h/log/2"));
  }
}

TEST(FolderCanaryTest, AFolderThatIsNotSyncedLosesTheObject) {
  ManualClock clock;
  StopSignal stop;
  SimFileSystem disk;
  const auto store = OpenFolder(disk, clock, stop, "/kv");
  disk.LeaveOutSyncs([](const std::string& path) { return path.ends_with("/log"); });
  ASSERT_TRUE(store->Put("h/log/1", "x", {}).has_value());
  Rng rng(1);
  disk.Crash(Keep::kNothing, rng);
  EXPECT_EQ(store->Head("h/log/1").error().kind, StoreErrorKind::kAbsent);
}

TEST(FolderFaultTest, AFullOrBrokenDiskLeavesNothingBehind) {
  ManualClock clock;
  StopSignal stop;
  SimFileSystem disk;
  const auto store = OpenFolder(disk, clock, stop, "/kv");
  disk.SetCapacity(1000);
  EXPECT_EQ(store->Put("a", std::string(2000, 'x'), {}).error().kind, StoreErrorKind::kFull);
  disk.SetCapacity(std::nullopt);
  disk.FailPath(SimFileSystem::Operation::kSync, ".tmp/", SimFileSystem::Fault::kIoError);
  EXPECT_EQ(store->Put("a", "x", {}).error().kind, StoreErrorKind::kDamaged);
  disk.ClearFaults();
  disk.FailPath(SimFileSystem::Operation::kRename, ".tmp/", SimFileSystem::Fault::kIoError);
  EXPECT_EQ(store->Put("a", "x", {}).error().kind, StoreErrorKind::kDamaged);
  disk.ClearFaults();
  EXPECT_THAT(disk.List("/kv/.tmp").value(), IsEmpty());
  EXPECT_THAT(KeysOf(*store), IsEmpty());
}

}  // namespace
}  // namespace kvorum::archive
