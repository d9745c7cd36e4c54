// The numbers of a database's file: etcd's, ours, and damaged ones.
#include "datadir/database_status.h"

#include <gmock/gmock.h>

#include <chrono>
#include <sstream>

#include "mvcc/lmdb/backend.h"
#include "mvcc/transfer/etcd_import.h"
#include "tests/datadir/snapshot_fixture.h"

namespace kvorum::datadir {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

class DatabaseStatusTest : public SnapshotTest {
 protected:
  std::unique_ptr<DatabaseFile> Open(const std::string& path) {
    auto file = OpenDatabaseFile(path, 1s);
    EXPECT_TRUE(file.has_value()) << file.error().message;
    return *std::move(file);
  }
  std::string OpenError(const std::string& path) {
    const auto file = OpenDatabaseFile(path, 10ms);
    return file.has_value() ? "opened" : file.error().message;
  }
  // Our own database with this content.
  std::string WriteOurs(const bbolt::Content& content) {
    const std::string path = dir_ + "/ours.db";
    const auto backend = mvcc::OpenLmdbBackend({.path = path});
    const auto file = bbolt::OpenImage(Image(content));
    mvcc::EtcdImport import;
    import.meta.consistent_index = 256;
    import.meta.storage_version = "3.7.0";
    EXPECT_TRUE(mvcc::ImportEtcdContent(**file, import, **backend).has_value());
    return path;
  }
};

TEST_F(DatabaseStatusTest, TellsWhatASnapshotHolds) {
  const std::string path = WriteBytes("s.db", WithHash(Image(SomeContent())));
  const auto file = Open(path);
  const auto status = ReadStatus(*file);
  ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(status->revision, 5);
  EXPECT_EQ(status->total_keys, 2U);
  EXPECT_EQ(status->total_size_bytes, std::filesystem::file_size(path) - kSnapshotHashBytes);
  EXPECT_EQ(status->version, "3.7.0");
}

// The term that the import adds is not in the snapshot.
TEST_F(DatabaseStatusTest, OurDatabaseHasTheNumbersOfEtcds) {
  bbolt::Content content = SomeContent();
  content["meta"]["term"] = std::string(8, '\0');
  const auto etcds = Open(WriteBytes("s.db", Image(content)));
  const std::string path = WriteOurs(content);
  std::filesystem::remove(path + "-lock");
  {
    const auto ours = Open(path);
    EXPECT_EQ(ours->kind(), DatabaseKind::kKvorum);
    EXPECT_EQ(ReadStatus(*ours)->hash, ReadStatus(*etcds)->hash);
    EXPECT_EQ(ReadStatus(*ours)->total_keys, 2U);
    for (std::int64_t revision = 0; revision < 6; ++revision) {
      EXPECT_EQ(ReadHashKv(*ours, revision)->hash, ReadHashKv(*etcds, revision)->hash);
      EXPECT_EQ(ReadHashKv(*ours, revision)->revision, revision == 0 ? 5 : revision);
    }
    EXPECT_EQ(OpenError(path), "opened") << "others may read it, too";
    EXPECT_EQ(mvcc::OpenLmdbBackend({.path = path}).error().code, Code::kFailedPrecondition);
  }
  EXPECT_FALSE(std::filesystem::exists(path + "-lock")) << "nothing is left beside the file";
  const auto writer = mvcc::OpenLmdbBackend({.path = path});
  ASSERT_TRUE(writer.has_value());
  EXPECT_EQ(OpenError(path), "timeout: another process uses " + path);
}

// Saved snapshots and released directories state it, those of a downgraded cluster too.
TEST_F(DatabaseStatusTest, OurDatabaseStatesTheStorageVersionOfItsCluster) {
  for (const auto& [cluster, storage] :
       {std::pair{"3.6.0", "3.6.0"}, {"3.5.0", ""}, {"3.0.0", "3.7.0"}}) {
    bbolt::Content content = SomeContent();
    content["cluster"]["clusterVersion"] = cluster;
    const std::string path = WriteOurs(content);
    content["meta"]["term"] = std::string(8, '\0');
    content["meta"]["storageVersion"] = storage;
    if (content["meta"]["storageVersion"].empty()) content["meta"].erase("storageVersion");
    const auto etcds = Open(WriteBytes("s.db", Image(content)));
    const auto expected = ReadStatus(*etcds);
    {
      const auto ours = Open(path);
      const auto status = ReadStatus(*ours);
      ASSERT_TRUE(status.has_value()) << status.error().message;
      EXPECT_EQ(status->version, storage) << cluster;
      EXPECT_EQ(status->hash, expected->hash) << cluster;
    }
    std::filesystem::remove(path);
  }
}

TEST_F(DatabaseStatusTest, AnEmptyDatabaseHasEtcdsHash) {
  bbolt::Content content;
  content["key"];
  content["meta"];
  const auto file = Open(WriteBytes("s.db", Image(content)));
  const auto hash = ReadHashKv(*file, 0);
  ASSERT_TRUE(hash.has_value());
  EXPECT_EQ(hash->hash, 1084519789U);
  EXPECT_EQ(hash->revision, 1);
  EXPECT_EQ(hash->compact_revision, -1);
}

// A server and etcdutl say the same: the hash of no record.
TEST_F(DatabaseStatusTest, NothingIsBelowZero) {
  const auto file = Open(WriteBytes("s.db", Image(SomeContent())));
  const auto hash = ReadHashKv(*file, -3);
  ASSERT_TRUE(hash.has_value());
  EXPECT_EQ(hash->hash, 1084519789U);
  EXPECT_EQ(hash->revision, -3);
}

TEST_F(DatabaseStatusTest, RevisionsOutsideTheHistoryAreRefused) {
  bbolt::Content content = SomeContent();
  content["meta"]["finishedCompactRev"] = RevisionText({3, 0});
  const auto file = Open(WriteBytes("s.db", Image(content)));
  EXPECT_THAT(ReadHashKv(*file, 2).error().message, HasSubstr("has been compacted"));
  EXPECT_TRUE(ReadHashKv(*file, 3).has_value());
  EXPECT_EQ(ReadHashKv(*file, 0)->compact_revision, 3);
  EXPECT_THAT(ReadHashKv(*file, 6).error().message, HasSubstr("is a future revision"));
}

TEST_F(DatabaseStatusTest, NothingButADatabaseIsOne) {
  EXPECT_EQ(OpenError(WriteBytes("empty", "")), "invalid database");
  EXPECT_THAT(OpenError(WriteBytes("text", std::string(100, 'x'))), StartsWith("invalid database"));
  EXPECT_FALSE(OpenDatabaseFile(dir_ + "/none", 10ms).has_value());
}

TEST_F(DatabaseStatusTest, ALookLeavesTheFileAsItIs) {
  const std::string bytes = WithHash(Image(SomeContent()));
  const std::string path = WriteBytes("s.db", bytes);
  {
    const auto file = Open(path);
    EXPECT_TRUE(ReadStatus(*file).has_value());
    EXPECT_TRUE(ReadHashKv(*file, 0).has_value());
  }
  std::ostringstream after;
  after << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_TRUE(after.str() == bytes);
}

TEST_F(DatabaseStatusTest, ADamagedPageIsAFailedCheck) {
  std::string image = Image(SomeContent());
  const std::size_t last_page = image.size() - 4096;
  image[last_page] = static_cast<char>(~image[last_page]);  // its number
  const auto status = ReadStatus(*Open(WriteBytes("s.db", image)));
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message,
              StartsWith("snapshot file integrity check failed. 1 errors found.\nbbolt: page "));
}

TEST_F(DatabaseStatusTest, NoLengthIsTakenForTheWholeFile) {
  const std::string image = Image(SomeContent());
  for (std::size_t length = 0; length < image.size(); length += 509) {
    const std::string path = WriteBytes("cut.db", image.substr(0, length));
    const auto file = OpenDatabaseFile(path, 10ms);
    EXPECT_TRUE(!file.has_value() || !ReadStatus(**file).has_value()) << length;
  }
}

TEST_F(DatabaseStatusTest, AFlippedByteIsAnErrorOrAnotherHash) {
  const std::string image = Image(SomeContent());
  const auto whole = ReadStatus(*Open(WriteBytes("s.db", image)));
  for (std::size_t at = 2 * 4096; at < image.size(); at += 7) {
    std::string spoiled = image;
    spoiled[at] = static_cast<char>(~spoiled[at]);
    const auto file = OpenDatabaseFile(WriteBytes("spoiled.db", spoiled), 10ms);
    if (!file.has_value()) continue;
    const auto status = ReadStatus(**file);
    // Bytes that no page uses stay unnoticed: they are not content.
    if (!status.has_value()) continue;
    EXPECT_TRUE(status->hash != whole->hash || spoiled[at] == '\xff') << at;
  }
}

}  // namespace
}  // namespace kvorum::datadir
