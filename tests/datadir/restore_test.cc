// A data directory made from a snapshot: its content, the refusals, and what is left of a restore
// that did not finish.
#include "datadir/restore.h"

#include <gmock/gmock.h>

#include <chrono>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "datadir/data_directory.h"
#include "datadir/database_status.h"
#include "datadir/snapshot_files.h"
#include "mvcc/lmdb/backend.h"
#include "tests/datadir/snapshot_fixture.h"
#include "wal/wal.h"

namespace kvorum::datadir {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kThree = "m1=http://h1:1,m2=http://h2:1,m3=http://h3:1";

// The process is killed when it has made a number of calls.
class KilledFileSystem final : public FileSystem {
 public:
  explicit KilledFileSystem(int calls) : left_(calls) {}
  bool is_killed() const { return left_ < 0; }

  Result<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    return Call([&] { return disk_.Open(path, mode); });
  }
  Result<bool> Exists(const std::string& path) override {
    return Call([&] { return disk_.Exists(path); });
  }
  Result<Status> Look(const std::string& path) override {
    return Call([&] { return disk_.Look(path); });
  }
  Result<std::vector<std::string>> List(const std::string& dir) override {
    return Call([&] { return disk_.List(dir); });
  }
  Result<void> MakeDirectories(const std::string& dir) override {
    return Call([&] { return disk_.MakeDirectories(dir); });
  }
  Result<void> Rename(const std::string& from, const std::string& to) override {
    return Call([&] { return disk_.Rename(from, to); });
  }
  Result<void> RenameIfAbsent(const std::string& from, const std::string& to) override {
    return Call([&] { return disk_.RenameIfAbsent(from, to); });
  }
  Result<void> Remove(const std::string& path) override {
    return Call([&] { return disk_.Remove(path); });
  }
  Result<void> SyncDirectory(const std::string& dir) override {
    return Call([&] { return disk_.SyncDirectory(dir); });
  }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return Call([&] { return disk_.Lock(path); });
  }
  Result<std::uint64_t> FreeSpace(const std::string& path) override {
    return Call([&] { return disk_.FreeSpace(path); });
  }

 private:
  template <typename Function>
  std::invoke_result_t<Function> Call(Function function) {
    if (left_ >= 0) --left_;
    if (is_killed()) return Fail(Code::kUnavailable, "this process has ended");
    return function();
  }

  FileSystem& disk_ = PosixFileSystem();
  int left_;
};

class RestoreTest : public SnapshotTest {
 protected:
  RestoreTest() { SetLogLevel(LogLevel::kError); }

  RestoreOptions Options() const {
    return {.data_dir = dir_ + "/data",
            .wal_dir = "",
            .name = "m1",
            .initial_cluster = kThree,
            .initial_cluster_token = "token",
            .advertise_peer_urls = {"http://h1:1"},
            .resolve = {}};
  }
  static Result<void> RestoreImage(const std::string& image, const RestoreOptions& options,
                                   FileSystem& fs = PosixFileSystem()) {
    const auto snapshot = bbolt::OpenImage(image);
    const auto open = [](const std::string& path) {
      return mvcc::OpenLmdbBackend({.path = path, .sync = mvcc::CommitSync::kByHand});
    };
    return Restore(fs, open, **snapshot, options);
  }
  static std::string ErrorOf(const Result<void>& result) {
    return result.has_value() ? "none" : result.error().message;
  }
  std::vector<std::string> Names(const std::string& dir) const {
    return PosixFileSystem().List(dir).value_or(std::vector<std::string>{});
  }
  std::unique_ptr<DatabaseFile> OpenRestored() const {
    return OpenDatabaseFile(dir_ + "/data/member/snap/db", 1s).value();
  }
};

TEST_F(RestoreTest, KeepsTheKeysAndReplacesTheMembers) {
  ASSERT_EQ(ErrorOf(RestoreImage(Image(SomeContent()), Options())), "none");
  const auto database = OpenRestored();
  EXPECT_EQ(ReadStatus(*database)->total_keys, 2U);
  EXPECT_EQ(ReadHashKv(*database, 0)->hash,
            ReadHashKv(**OpenDatabaseFile(WriteBytes("s.db", Image(SomeContent())), 1s), 0)->hash);
  std::map<std::string, std::vector<std::string>> keys;
  std::string bucket;
  ASSERT_TRUE(database
                  ->Visit({.bucket = [&](std::string_view name) -> Result<void> {
                             bucket = name;
                             return {};
                           },
                           .record = [&](std::string_view key, std::string_view) -> Result<void> {
                             keys[bucket].emplace_back(key);
                             return {};
                           }})
                  .has_value());
  EXPECT_EQ(keys["members"].size(), 3U);
  EXPECT_TRUE(keys["members_removed"].empty());
  EXPECT_EQ(database->GetMeta("consistent_index").value(), std::string("\0\0\0\0\0\0\0\3", 8));
  EXPECT_EQ(database->GetMeta("storageVersion").value(), "3.7.0");
}

TEST_F(RestoreTest, TheLogIsThatOfANewCluster) {
  ASSERT_EQ(ErrorOf(RestoreImage(Image(SomeContent()), Options())), "none");
  FileSystem& files = PosixFileSystem();
  const auto markers = wal::ListMarkers(files, dir_ + "/data/member/wal");
  ASSERT_TRUE(markers.has_value()) << markers.error().message;
  ASSERT_EQ(markers->back().index, raft::Index{3});
  const auto log = wal::Read(files, dir_ + "/data/member/wal", wal::SnapshotMarker{});
  ASSERT_TRUE(log.has_value()) << log.error().message;
  EXPECT_EQ(log->entries.size(), 3U);
  EXPECT_EQ(log->hard_state.commit, raft::Index{3});
  EXPECT_EQ(log->metadata.node_id, server::ComputeMemberId({"http://h1:1"}, "token", std::nullopt));
  const auto snapshot = LoadNewestSnapshotFile(files, dir_ + "/data/member/snap",
                                               [](const raft::SnapshotMetadata&) { return true; });
  ASSERT_TRUE(snapshot.has_value() && snapshot->has_value());
  EXPECT_EQ((*snapshot)->index, raft::Index{3});
  EXPECT_EQ((*snapshot)->conf_state.voters.size(), 3U);
  EXPECT_TRUE(OpenDataDirectory(files, dir_ + "/data", "").has_value());
}

TEST_F(RestoreTest, DamageThatTheContentDoesNotShowIsRefusedBeforeAnythingIsMade) {
  const Result<void> restored = RestoreImage(WithRootInFreelist(Image(SomeContent())), Options());
  ASSERT_FALSE(restored.has_value());
  EXPECT_EQ(restored.error().code, Code::kDataLoss);
  EXPECT_THAT(restored.error().message, HasSubstr("reachable, but in the freelist"));
  EXPECT_FALSE(std::filesystem::exists(Options().data_dir));
}

TEST_F(RestoreTest, TheFormerMembersAlarmsEnd) {
  bbolt::Content content = SomeContent();
  content["alarm"] = {{"\x08\x11\x10\x01", ""}, {"\x08\x11\x10\x02", ""}};
  ASSERT_EQ(ErrorOf(RestoreImage(Image(content), Options())), "none");
  std::size_t alarms = 0;
  std::string bucket;
  ASSERT_TRUE(OpenRestored()
                  ->Visit({.bucket = [&](std::string_view name) -> Result<void> {
                             bucket = name;
                             return {};
                           },
                           .record = [&](std::string_view, std::string_view) -> Result<void> {
                             if (bucket == "alarm") ++alarms;
                             return {};
                           }})
                  .has_value());
  EXPECT_EQ(alarms, 0U);
}

TEST_F(RestoreTest, ARevisionThatNoClusterComesToIsRefused) {
  for (const std::int64_t revision :
       {(std::int64_t{1} << 62) + 1, (std::int64_t{1} << 62) + (std::int64_t{1} << 61)}) {
    bbolt::Content content = SomeContent();
    content["key"][RevisionText({revision, 0})] = KeyValueText("d", revision, "4");
    const Result<void> restored = RestoreImage(Image(content), Options());
    ASSERT_FALSE(restored.has_value());
    EXPECT_EQ(restored.error().code, Code::kDataLoss);
    EXPECT_THAT(restored.error().message, HasSubstr("larger than any that a cluster comes to"));
    content = SomeContent();
    content["meta"]["scheduledCompactRev"] = RevisionText({revision, 0});
    EXPECT_THAT(ErrorOf(RestoreImage(Image(content), Options())),
                HasSubstr("larger than any that a cluster comes to"));
  }
}

TEST_F(RestoreTest, ABumpedRevisionIsCompacted) {
  RestoreOptions options = Options();
  options.bump_revision = 100;
  ASSERT_EQ(ErrorOf(RestoreImage(Image(SomeContent()), options)), "none");
  const auto database = OpenRestored();
  EXPECT_EQ(ReadStatus(*database)->revision, 105);
  const auto hash = ReadHashKv(*database, 0);
  ASSERT_TRUE(hash.has_value()) << hash.error().message;
  EXPECT_EQ(hash->revision, 105);
  EXPECT_EQ(hash->compact_revision, 105);
  EXPECT_EQ(ReadStatus(*database)->total_keys, 3U) << "etcdutl counts the record without a key too";
  options.data_dir = dir_ + "/other";
  options.bump_revision = std::uint64_t{1} << 63;
  EXPECT_THAT(ErrorOf(RestoreImage(Image(SomeContent()), options)), HasSubstr("--bump-revision"));
  EXPECT_FALSE(std::filesystem::exists(options.data_dir));
}

TEST_F(RestoreTest, WhatIsThereIsNotOverwritten) {
  RestoreOptions options = Options();
  std::filesystem::create_directories(options.data_dir);
  EXPECT_EQ(ErrorOf(CheckRestore(PosixFileSystem(), options)), "none") << "an empty one is fine";
  WriteBytes("data/file", "");
  EXPECT_EQ(ErrorOf(CheckRestore(PosixFileSystem(), options)),
            "data-dir \"" + options.data_dir + "\" not empty or could not be read");
  options = Options();
  options.data_dir = dir_ + "/new";
  options.wal_dir = dir_ + "/data";
  EXPECT_EQ(ErrorOf(CheckRestore(PosixFileSystem(), options)),
            "wal-dir \"" + options.wal_dir + "\" exists");
}

TEST_F(RestoreTest, TheMemberMustBeInTheCluster) {
  RestoreOptions options = Options();
  options.name = "other";
  EXPECT_EQ(ErrorOf(CheckRestore(PosixFileSystem(), options)),
            "couldn't find local name \"other\" in the initial cluster configuration");
  options = Options();
  options.advertise_peer_urls = {"http://h2:1"};
  EXPECT_THAT(ErrorOf(CheckRestore(PosixFileSystem(), options)),
              HasSubstr("--initial-cluster has m1=http://h1:1 but missing from "
                        "--initial-advertise-peer-urls=http://h2:1"));
  options.advertise_peer_urls = {"nonsense"};
  EXPECT_THAT(ErrorOf(CheckRestore(PosixFileSystem(), options)), HasSubstr("URL scheme"));
}

TEST_F(RestoreTest, ANameAndItsAddressAreTheSamePeer) {
  RestoreOptions options = Options();
  options.resolve = [](const std::string& url) {
    return url == "http://h1.example.test:1" ? "http://h1:1" : url;
  };
  options.advertise_peer_urls = {"http://h1.example.test:1"};
  EXPECT_EQ(ErrorOf(CheckRestore(PosixFileSystem(), options)), "none");
  options.advertise_peer_urls = {"https://h1.example.test:1"};
  EXPECT_THAT(ErrorOf(CheckRestore(PosixFileSystem(), options)), HasSubstr("but missing from"));
  options.advertise_peer_urls = {"http://h2.example.test:1"};
  EXPECT_THAT(ErrorOf(CheckRestore(PosixFileSystem(), options)), HasSubstr("but missing from"));
}

TEST_F(RestoreTest, ADamagedSnapshotLeavesNothing) {
  bbolt::Content content = SomeContent();
  content["key"][RevisionText({6, 0})] = "no key-value pair";
  RestoreOptions options = Options();
  options.wal_dir = dir_ + "/wal";
  EXPECT_THAT(ErrorOf(RestoreImage(Image(content), options)), HasSubstr("revision 6"));
  EXPECT_TRUE(Names(dir_).empty());
}

// From which the new cluster would not start.
TEST_F(RestoreTest, ADamagedRecordOfAnyBucketIsNamed) {
  bbolt::Content content = SomeContent();
  content["lease"]["12345678"] = "\xff";
  EXPECT_THAT(ErrorOf(RestoreImage(Image(content), Options())),
              HasSubstr(R"(bucket lease, key "12345678")"));
  EXPECT_TRUE(Names(dir_).empty());
  // The old members are not taken over.
  content = SomeContent();
  content["members"]["11"] = "{";
  EXPECT_EQ(ErrorOf(RestoreImage(Image(content), Options())), "none");
}

TEST_F(RestoreTest, AStorageVersionOfTheFutureIsRefused) {
  bbolt::Content content = SomeContent();
  content["meta"]["storageVersion"] = "3.8.0";
  EXPECT_THAT(ErrorOf(RestoreImage(Image(content), Options())), HasSubstr("storage version 3.8.0"));
  EXPECT_TRUE(Names(dir_).empty());
}

TEST_F(RestoreTest, RemainsOfAnInterruptedOneAreReplaced) {
  RestoreOptions options = Options();
  options.wal_dir = dir_ + "/wal";
  // A restore that was killed: its folder, its note, and a log that it had begun.
  std::filesystem::create_directories(options.data_dir + "/restore.part/member/snap");
  std::filesystem::create_directories(options.wal_dir);
  WriteBytes("data/restore.part/wal-dir", options.wal_dir);
  WriteBytes("data/restore.part/member/snap/db", "half");
  WriteBytes("wal/0000000000000000-0000000000000000.wal", "half");
  WriteBytes("wal/restore.part", "");
  EXPECT_THAT(OpenDataDirectory(PosixFileSystem(), options.data_dir, "").error().message,
              HasSubstr("holds a restore that did not finish"));
  ASSERT_EQ(ErrorOf(RestoreImage(Image(SomeContent()), options)), "none");
  EXPECT_THAT(Names(options.data_dir), ElementsAre("member"));
  EXPECT_TRUE(wal::ListMarkers(PosixFileSystem(), options.wal_dir).has_value());
  EXPECT_THAT(Names(options.wal_dir), testing::Not(testing::Contains("restore.part")));
  EXPECT_TRUE(OpenDataDirectory(PosixFileSystem(), options.data_dir, options.wal_dir).has_value());
}

TEST_F(RestoreTest, OneThatIsKilledAtAnyMomentIsFinishedByTheSameCommand) {
  RestoreOptions options = Options();
  options.wal_dir = dir_ + "/wal";
  const std::string image = Image(SomeContent());
  int calls = 0;
  for (bool finished = false; !finished; ++calls) {
    std::filesystem::remove_all(options.data_dir);
    std::filesystem::remove_all(options.wal_dir);
    // Killed while it makes, and again while it removes what is left.
    KilledFileSystem first(calls);
    finished = RestoreImage(image, options, first).has_value();
    KilledFileSystem second(calls);
    const bool made = std::filesystem::exists(options.data_dir + "/member");
    if (!made) static_cast<void>(RestoreImage(image, options, second));
    if (!std::filesystem::exists(options.data_dir + "/member")) {
      ASSERT_EQ(ErrorOf(RestoreImage(image, options)), "none") << "killed after call " << calls;
    }
    EXPECT_TRUE(wal::ListMarkers(PosixFileSystem(), options.wal_dir).has_value()) << calls;
    ASSERT_TRUE(OpenDataDirectory(PosixFileSystem(), options.data_dir, options.wal_dir).has_value())
        << calls;
  }
  EXPECT_GT(calls, 40);
}

TEST_F(RestoreTest, RemainsThatAreLinksAreRemovedAndNotWhatTheyName) {
  const RestoreOptions options = Options();
  const std::filesystem::path elsewhere = std::filesystem::path(dir_) / "elsewhere";
  std::filesystem::create_directories(elsewhere / "folder");
  WriteBytes("elsewhere/folder/file", "somebody's");
  std::filesystem::create_directory(options.data_dir);
  std::filesystem::create_symlink(elsewhere, options.data_dir + "/restore.part");
  EXPECT_EQ(ErrorOf(RestoreImage(Image(SomeContent()), options)), "none");
  EXPECT_THAT(Names(elsewhere / "folder"), ElementsAre("file"));

  std::filesystem::remove_all(options.data_dir);
  std::filesystem::create_directories(options.data_dir + "/restore.part");
  std::filesystem::create_symlink(elsewhere, options.data_dir + "/restore.part/member");
  std::filesystem::create_symlink("nothing", options.data_dir + "/restore.part/dangling");
  EXPECT_EQ(ErrorOf(RestoreImage(Image(SomeContent()), options)), "none");
  EXPECT_THAT(Names(elsewhere / "folder"), ElementsAre("file"));
  EXPECT_THAT(Names(options.data_dir), ElementsAre("member"));
}

// The note of the interrupted restore is old: the log is that of a member that rests.
TEST_F(RestoreTest, ALogThatAnotherMemberHasMadeThereSinceIsNotTakenForRemains) {
  RestoreOptions options = Options();
  options.wal_dir = dir_ + "/wal";
  std::filesystem::create_directories(options.data_dir + "/restore.part");
  std::filesystem::create_directories(options.wal_dir);
  WriteBytes("data/restore.part/wal-dir", options.wal_dir);
  const std::string segment = "wal/0000000000000000-0000000000000000.wal";
  WriteBytes(segment, "a member's");
  EXPECT_EQ(ErrorOf(RestoreImage(Image(SomeContent()), options)),
            "wal-dir \"" + options.wal_dir + "\" exists");
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/" + segment));
}

TEST_F(RestoreTest, ALogThatAMemberUsesIsNotTakenForRemains) {
  RestoreOptions options = Options();
  options.wal_dir = dir_ + "/wal";
  std::filesystem::create_directories(options.data_dir + "/restore.part");
  std::filesystem::create_directories(options.wal_dir);
  WriteBytes("data/restore.part/wal-dir", options.wal_dir);
  WriteBytes("wal/0000000000000000-0000000000000000.wal", "a member's");
  WriteBytes("wal/restore.part", "");
  const auto lock = PosixFileSystem().Lock(options.wal_dir + "/lock");
  EXPECT_THAT(ErrorOf(RestoreImage(Image(SomeContent()), options)), HasSubstr("is in use"));
  EXPECT_TRUE(std::filesystem::exists(options.wal_dir + "/0000000000000000-0000000000000000.wal"));
}

TEST_F(RestoreTest, ARestoreThatRunsIsNotDisturbed) {
  const RestoreOptions options = Options();
  const std::string member = options.data_dir + "/restore.part/member";
  std::filesystem::create_directories(member);
  const auto lock = PosixFileSystem().Lock(member + "/lock");
  EXPECT_THAT(ErrorOf(RestoreImage(Image(SomeContent()), options)), HasSubstr("another restore"));
  EXPECT_TRUE(std::filesystem::exists(member));
}

TEST_F(RestoreTest, TheHashBehindASnapshotIsChecked) {
  FileSystem& files = PosixFileSystem();
  const std::string image = Image(SomeContent());
  EXPECT_EQ(ErrorOf(CheckSnapshotHash(files, WriteBytes("s", WithHash(image)))), "none");
  EXPECT_EQ(ErrorOf(CheckSnapshotHash(files, WriteBytes("s", image))),
            "snapshot missing hash but --skip-hash-check=false");
  std::string spoiled = WithHash(image);
  spoiled[5000] = static_cast<char>(~spoiled[5000]);
  EXPECT_THAT(ErrorOf(CheckSnapshotHash(files, WriteBytes("s", spoiled))),
              testing::StartsWith("expected sha256 ["));
}

}  // namespace
}  // namespace kvorum::datadir
