// Etcd's database written anew: on a disk that loses what was not synced at every write, one of the
// two files is there, whole.
#include "datadir/rewrite.h"

#include <gmock/gmock.h>

#include <string>

#include "datadir/migration.h"
#include "tests/datadir/etcd_directory_on_disk.h"

namespace kvorum::datadir {
namespace {

class RewriteTest : public EtcdDirectory {
 protected:
  Result<void> Rewrite(FileSystem& fs, std::optional<std::string> storage_version = {}) const {
    return RewriteEtcds(fs,
                        {.path = layout_.database, .storage_version = std::move(storage_version)});
  }
  bbolt::Content Content() { return ReadEtcds(fs_, layout_.database).value(); }
  std::vector<std::string> Names() { return fs_.List(layout_.snap).value(); }
};

TEST_F(RewriteTest, KeepsEachRecordAndLeavesNothingBeside) {
  const auto before = Names();
  ASSERT_OK(Rewrite(fs_));
  EXPECT_EQ(Content(), EtcdContent());
  EXPECT_EQ(Names(), before);
}

TEST_F(RewriteTest, FreePagesAreGone) {
  std::string image = *bbolt::ImageOf(EtcdContent());
  const std::size_t size = image.size();
  // A freelist of one page more, behind the last.
  bbolt::Meta meta = *bbolt::DecodeMetaPage(1, std::string_view(image).substr(4096, 4096));
  meta.high_water += 1;
  image.replace(4096, 4096, bbolt::EncodeMetaPage(meta));
  image.append(4096, '\0');
  image[(2 * 4096) + 10] = 1;  // the freelist's count, then its one id
  image[(2 * 4096) + 16] = static_cast<char>(meta.high_water - 1);
  WriteFile(layout_.database, image);
  ASSERT_OK(ReadEtcds(fs_, layout_.database));
  ASSERT_OK(Rewrite(fs_));
  EXPECT_EQ(Content(), EtcdContent());
  EXPECT_EQ(*fs_.Open(layout_.database, FileSystem::OpenMode::kRead).value()->Size(), size);
}

TEST_F(RewriteTest, DamageThatTheContentDoesNotShowIsRefused) {
  std::string image = *bbolt::ImageOf(EtcdContent());
  const bbolt::Meta meta = *bbolt::DecodeMetaPage(1, std::string_view(image).substr(4096, 4096));
  image[(meta.freelist * 4096) + 10] = 1;  // the freelist's count, then its one id: a page in use
  image[(meta.freelist * 4096) + 16] = static_cast<char>(meta.root);
  WriteFile(layout_.database, image);
  const auto before = Names();
  const Result<void> refused = Rewrite(fs_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("reachable, but in the freelist"));
  EXPECT_EQ(Names(), before);
}

TEST_F(RewriteTest, ADiskWithoutRoomForACopyIsLeftAlone) {
  constexpr std::uint64_t kMuch = std::uint64_t{1} << 40;
  fs_.SetCapacity(kMuch);
  fs_.SetCapacity(kMuch - *fs_.FreeSpace("/") + 4096);
  const auto before = fs_.operations();
  const Result<void> refused = Rewrite(fs_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("no room for a copy"));
  EXPECT_EQ(fs_.operations(), before) << "nothing was written";
}

TEST_F(RewriteTest, TheStorageVersionIsChangedAddedAndLeftOut) {
  bbolt::Content expected = EtcdContent();
  ASSERT_OK(Rewrite(fs_, "3.6.0"));
  expected["meta"]["storageVersion"] = "3.6.0";
  EXPECT_EQ(Content(), expected);
  ASSERT_OK(Rewrite(fs_, ""));
  expected["meta"].erase("storageVersion");
  EXPECT_EQ(Content(), expected);
  ASSERT_OK(Rewrite(fs_, "3.7.0"));
  EXPECT_EQ(Content(), EtcdContent());
  // A key that comes behind it.
  expected["meta"]["z"] = "last";
  WriteDatabase(expected);
  ASSERT_OK(Rewrite(fs_, "3.6.0"));
  expected["meta"]["storageVersion"] = "3.6.0";
  EXPECT_EQ(Content(), expected);
}

TEST_F(RewriteTest, WhoWaitedForTheLockOnTheOldFileFindsNoDatabaseInIt) {
  auto waiting = fs_.Open(layout_.database, FileSystem::OpenMode::kRead);
  ASSERT_OK(waiting);
  ASSERT_OK(Rewrite(fs_));
  EXPECT_FALSE(bbolt::Reader::Open(*std::move(waiting)).has_value());
}

class RewriteOnDiskTest : public EtcdDirectoryOnDisk {
 protected:
  const std::string& Database() {
    path_ = OnDisk(layout_.database);
    return path_;
  }
  std::string path_;
};

TEST_F(RewriteOnDiskTest, AnotherNameOfTheOldFileKeepsItsContent) {
  for (const bool symbolic : {false, true}) {
    const std::string backup = dir_ + "/backup" + (symbolic ? "2" : "");
    if (symbolic) {
      std::filesystem::rename(Database(), backup);
      std::filesystem::create_symlink(backup, Database());
    } else {
      std::filesystem::create_hard_link(Database(), backup);
    }
    ASSERT_OK(RewriteEtcds(PosixFileSystem(), {.path = Database(), .storage_version = "3.6.0"}));
    EXPECT_EQ(ReadEtcds(PosixFileSystem(), backup).value(), EtcdContent());
    EXPECT_NE(ReadEtcds(PosixFileSystem(), Database()).value(), EtcdContent());
    ASSERT_OK(RewriteEtcds(PosixFileSystem(), {.path = Database(), .storage_version = "3.7.0"}));
  }
}

TEST_F(RewriteOnDiskTest, WithoutOneTheOldFileIsNoDatabase) {
  auto waiting = PosixFileSystem().Open(Database(), FileSystem::OpenMode::kRead);
  ASSERT_OK(waiting);
  ASSERT_OK(RewriteEtcds(PosixFileSystem(), {.path = Database()}));
  EXPECT_FALSE(bbolt::Reader::Open(*std::move(waiting)).has_value());
}

TEST_F(RewriteTest, APowerCutAtAnyMomentLeavesOneOfTheTwo) {
  bbolt::Content expected = EtcdContent();
  expected["meta"]["storageVersion"] = "3.6.0";
  CutAtEachOperation(
      [&](Rng& rng) { return fs_.CrashImage(SimFileSystem::Keep::kNothing, rng); },
      [&](FileSystem& fs) {
        // The one or the other, before the next call too.
        const auto found = ReadEtcds(fs, layout_.database);
        EXPECT_TRUE(found.has_value() && (*found == EtcdContent() || *found == expected));
        return Rewrite(fs, "3.6.0").has_value();
      },
      [&](FileSystem& fs) {
        EXPECT_EQ(ReadEtcds(fs, layout_.database).value(), expected);
        EXPECT_FALSE(*fs.Exists(layout_.database + ".rewrite"));
      });
}

TEST_F(RewriteTest, AFullDiskLeavesTheOldFile) {
  fs_.FailPath(SimFileSystem::Operation::kWrite, "db.rewrite", SimFileSystem::Fault::kNoSpace);
  const auto before = Names();
  const auto done = Rewrite(fs_);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::kResourceExhausted);
  EXPECT_EQ(Names(), before);
  EXPECT_EQ(Content(), EtcdContent());
  fs_.ClearFaults();
  EXPECT_OK(Rewrite(fs_));
}

TEST_F(RewriteTest, ADamagedDatabaseStaysAsItIs) {
  std::string image = *bbolt::ImageOf(EtcdContent());
  image[(3 * 4096) + 8] ^= 0x40;  // a page's flags
  WriteFile(layout_.database, image);
  const auto before = Names();
  const auto done = Rewrite(fs_);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::kDataLoss);
  EXPECT_EQ(ReadWholeFile(fs_, layout_.database, 1 << 20).value(), image);
  EXPECT_EQ(Names(), before);
}

TEST(MigrationTest, GoesOneMinorVersionAtATime) {
  const auto steps = [](server::Version from, server::Version target) {
    const auto found = MigrationSteps(from, target);
    if (!found.has_value()) return found.error().message;
    std::string text;
    for (const server::Version step : *found) text += step.text() + " ";
    return text;
  };
  EXPECT_EQ(steps({3, 5, 0}, {3, 7, 0}), "3.6.0 3.7.0 ");
  EXPECT_EQ(steps({3, 7, 0}, {3, 5, 0}), "3.6.0 3.5.0 ");
  EXPECT_EQ(steps({3, 7, 0}, {3, 7, 0}), "");
  EXPECT_EQ(steps({3, 7, 0}, {3, 8, 0}),
            "cannot create migration plan: version \"3.8.0\" is not supported");
  EXPECT_EQ(steps({3, 8, 0}, {3, 7, 0}),
            "cannot create migration plan: version \"3.8.0\" is not supported");
  EXPECT_EQ(steps({3, 7, 0}, {4, 0, 0}),
            "cannot create migration plan: changing major storage version is not supported");
}

TEST(MigrationTest, TheVersionIsStatedOrFollowsFromTheTerm) {
  const auto detected = [](std::uint64_t term, const char* stated) {
    mvcc::EtcdMeta meta;
    meta.term = term;
    meta.storage_version = stated;
    const auto version = DetectStorageVersion(meta);
    return version.has_value() ? version->text() : version.error().message;
  };
  EXPECT_EQ(detected(1, "3.6.0"), "3.6.0");
  EXPECT_EQ(detected(1, ""), "3.5.0");
  EXPECT_EQ(detected(1, "nonsense"), "3.5.0");
  EXPECT_EQ(detected(0, ""), "missing term information");
}

class LogsVersionTest : public EtcdDirectory {
 protected:
  void Append(std::string data) {
    const auto markers = wal::ListMarkers(fs_, layout_.wal);
    ASSERT_OK(markers);
    auto log = wal::Open(fs_, layout_.wal, markers->back(), wal::SmallOptions(), {});
    ASSERT_OK(log);
    const raft::Entry entry = wal::MakeEntry(kLast + 1, 2, std::move(data));
    ASSERT_OK(log->writer->Append(std::span(&entry, 1), nullptr));
    ASSERT_OK(log->writer->Close());
  }
};

TEST_F(LogsVersionTest, IsThatOfADowngradesTest) {
  EXPECT_EQ(*NeededByLog(fs_, layout_.wal), std::nullopt);
  // downgrade_version_test = 9900 {ver = 1: "3.7.0"}
  Append(std::string("\xe2\xea\x04\x07\x0a\x05") + "3.7.0");
  EXPECT_EQ(NeededByLog(fs_, layout_.wal)->value_or(server::Version{}).text(), "3.7.0");
}

}  // namespace
}  // namespace kvorum::datadir
