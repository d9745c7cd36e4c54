// Adopt and Release on a simulated disk that loses, at every write operation of theirs, what was
// not synced: afterwards the directory is whole on one side, or the same call finishes.
#include "datadir/adopt.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <span>
#include <string>

#include "datadir/data_directory.h"
#include "datadir/release.h"
#include "tests/datadir/etcd_directory.h"

namespace kvorum::datadir {
namespace {

using testing::HasSubstr;

constexpr std::string_view kReleaseMark = "kvorum release 1\n";

class AdoptTest : public EtcdDirectory {
 protected:
  static Result<Adopted> AdoptOn(FileSystem& fs, bool drop_old = false) {
    return Adopt(
        fs,
        {.data_dir = "/data", .open = Opener(fs, mvcc::CommitSync::kByHand), .drop_old = drop_old});
  }
  static Result<Released> ReleaseOn(FileSystem& fs, bool drop_old = false) {
    return Release(fs, {.data_dir = "/data", .open = Opener(fs), .drop_old = drop_old});
  }
  std::string AdoptError() {
    const auto adopted = AdoptOn(fs_);
    return adopted.has_value() ? "adopted" : adopted.error().message;
  }
  bool Exists(const std::string& path) { return *fs_.Exists(path); }
  // Committed, behind those that are there.
  void AppendToLog(const raft::Entry& entry) {
    const auto markers = wal::ListMarkers(fs_, layout_.wal);
    ASSERT_OK(markers);
    auto log = wal::Open(fs_, layout_.wal, markers->back(), wal::SmallOptions(), {});
    ASSERT_OK(log);
    const raft::HardState state{
        .term = entry.term, .vote = wal::kMetadata.node_id, .commit = entry.index};
    ASSERT_OK(log->writer->Append(std::span(&entry, 1), &state));
    ASSERT_OK(log->writer->Close());
  }
  // A release does this before it puts its database into place.
  void MarkInLog(raft::Index index) {
    const auto markers = wal::ListMarkers(fs_, layout_.wal);
    ASSERT_OK(markers);
    auto log = wal::Open(fs_, layout_.wal, markers->back(), wal::SmallOptions(), {});
    ASSERT_OK(log);
    ASSERT_OK(
        SaveSnapshotFile(fs_, layout_.snap, {.conf_state = Voters(), .index = index, .term = 2}));
    ASSERT_OK(log->writer->SaveSnapshot({.index = index, .term = 2, .conf_state = Voters()}));
    ASSERT_OK(log->writer->Close());
  }
};

TEST_F(AdoptTest, TheContentIsKeptAndTheMemberIsTheSame) {
  const auto adopted = AdoptOn(fs_);
  ASSERT_OK(adopted);
  EXPECT_EQ(adopted->member, wal::kMetadata.node_id);
  EXPECT_EQ(adopted->cluster, wal::kMetadata.cluster_id);
  EXPECT_EQ(adopted->applied, kApplied);
  EXPECT_EQ(adopted->last_index, kLast);
  EXPECT_EQ(adopted->kept, layout_.KeptOfEtcd());
  const auto content = ReadOurs(fs_, layout_.database);
  ASSERT_OK(content);
  EXPECT_EQ(*content, EtcdContent());
  EXPECT_OK(OpenDataDirectory(fs_, "/data", ""));
}

TEST_F(AdoptTest, TheOldDatabaseGoesWhenItIsDropped) {
  ASSERT_OK(AdoptOn(fs_));
  EXPECT_TRUE(Exists(layout_.KeptOfEtcd()));
  const auto again = AdoptOn(fs_, /*drop_old=*/true);
  ASSERT_OK(again);
  EXPECT_TRUE(again->was_ours);
  EXPECT_FALSE(Exists(layout_.KeptOfEtcd()));
}

TEST_F(AdoptTest, ThereAndBackIsTheSameFile) {
  ASSERT_OK(AdoptOn(fs_));
  const auto released = ReleaseOn(fs_);
  ASSERT_OK(released);
  EXPECT_EQ(released->storage_version, "3.7.0");
  EXPECT_EQ(released->applied, kApplied);
  const auto content = ReadEtcds(fs_, layout_.database);
  ASSERT_OK(content);
  EXPECT_EQ(*content, EtcdContent());
  for (const std::string& gone :
       {layout_.format, layout_.lock, layout_.wal + "/lock", LmdbLockOf(layout_.database)})
    EXPECT_FALSE(Exists(gone)) << gone;
}

TEST_F(AdoptTest, ReleaseMarksTheDatabasesIndexInTheLog) {
  ASSERT_OK(AdoptOn(fs_));
  ASSERT_OK(ReleaseOn(fs_));
  const auto markers = wal::ListMarkers(fs_, layout_.wal);
  ASSERT_OK(markers);
  EXPECT_EQ(markers->back().index, kApplied);
  EXPECT_EQ(markers->back().term, raft::Term{2});
  const auto log = wal::Read(fs_, layout_.wal, markers->back());
  ASSERT_OK(log);
  EXPECT_EQ(log->entries.size(), kLast.value() - kApplied.value());
  const auto file = LoadNewestSnapshotFile(fs_, layout_.snap, [](const auto&) { return true; });
  ASSERT_OK(file);
  EXPECT_EQ((*file)->index, kApplied);
}

TEST_F(AdoptTest, TheStorageVersionIsThatOfTheCluster) {
  auto content = EtcdContent();
  content["cluster"]["clusterVersion"] = "3.6.0";
  content["meta"]["storageVersion"] = "3.6.0";
  WriteDatabase(content);
  ASSERT_OK(AdoptOn(fs_));
  EXPECT_EQ(ReadOurs(fs_, layout_.database)->at("meta").at("storageVersion"), "3.7.0");
  ASSERT_OK(ReleaseOn(fs_));
  EXPECT_EQ(ReadEtcds(fs_, layout_.database)->at("meta").at("storageVersion"), "3.6.0");
}

TEST_F(AdoptTest, WhatOldVersionsLackIsFoundElsewhere) {
  auto content = EtcdContent();
  content["cluster"]["clusterVersion"] = "3.4.0";
  content["meta"] = {{"consistent_index", BigEndian(kApplied.value())}};
  WriteDatabase(content);
  ASSERT_OK(AdoptOn(fs_));
  const auto meta = ReadOurs(fs_, layout_.database)->at("meta");
  EXPECT_EQ(meta.at("term"), BigEndian(2));
  EXPECT_EQ(meta.at("confState"), server::EncodeConfStateJson(Voters()));
  ASSERT_OK(ReleaseOn(fs_));
  EXPECT_FALSE(ReadEtcds(fs_, layout_.database)->at("meta").contains("storageVersion"));
}

// Etcd notes no place in the log for the empty entry of a new leader.
TEST_F(AdoptTest, ATermThatBeginsBehindTheDatabaseIsThatOfTheEntry) {
  WriteDatabase(EtcdContent(kLast));
  AppendToLog(wal::MakeEntry(kLast + 1, 3, ""));
  const auto adopted = AdoptOn(fs_);
  ASSERT_OK(adopted);
  EXPECT_EQ(adopted->applied, kLast + 1);
  const auto meta = ReadOurs(fs_, layout_.database)->at("meta");
  EXPECT_EQ(meta.at("consistent_index"), BigEndian(kLast.value() + 1));
  EXPECT_EQ(meta.at("term"), BigEndian(3));
}

// Etcd before 3.5 may note no place in the log for an entry whose effect is in its file; later ones
// put both into one commit.
TEST_F(AdoptTest, AnEntryOfVersion2IsSteppedOverOnlyBeforeEtcd35) {
  const std::string name("\x08\x05\x12\x03PUT\x1a\x02/0", 11);
  WriteDatabase(EtcdContent(kLast));
  AppendToLog(wal::MakeEntry(kLast + 1, 2, name));
  EXPECT_THAT(AdoptError(), HasSubstr("entry 13 of the log is of a kind that only etcd can apply"));
  auto content = EtcdContent(kLast);
  content["meta"].erase("confState");
  WriteDatabase(content);
  const auto adopted = AdoptOn(fs_);
  ASSERT_OK(adopted);
  EXPECT_EQ(adopted->applied, kLast + 1);
}

TEST_F(AdoptTest, AConfStateThatNoStartCouldReadIsRefused) {
  auto content = EtcdContent();
  content["meta"]["confState"] = "{";
  WriteDatabase(content);
  EXPECT_FALSE(AdoptOn(fs_).has_value());
  EXPECT_FALSE(Exists(layout_.format));
}

// No store could go on from it: the next entry's term would go back.
TEST_F(AdoptTest, ATermThatTheLogDoesNotHaveIsNotBelieved) {
  auto content = EtcdContent();
  content["meta"]["term"] = BigEndian(9);
  WriteDatabase(content);
  ASSERT_OK(AdoptOn(fs_));
  EXPECT_EQ(ReadOurs(fs_, layout_.database)->at("meta").at("term"), BigEndian(2));
}

TEST_F(AdoptTest, AnEntryNestedDeeplyIsRefused) {
  std::string reversed;
  for (int depth = 0; depth < 50'000; ++depth) {
    std::string head("\x12", 1);
    std::size_t size = reversed.size();
    for (; size > 0x7f; size >>= 7) head.push_back(static_cast<char>((size & 0x7f) | 0x80));
    head.push_back(static_cast<char>(size));
    reversed.append(head.rbegin(), head.rend());
  }
  AppendToLog(wal::MakeEntry(kLast + 1, 2, std::string(reversed.rbegin(), reversed.rend())));
  EXPECT_THAT(AdoptError(), HasSubstr("only etcd can apply"));
}

TEST_F(AdoptTest, AJointChangeOfMembersIsRefused) {
  raft::Entry entry = wal::MakeEntry(kLast + 1, 2, "");
  entry.type = raft::EntryType::kConfChangeV2;
  AppendToLog(entry);
  EXPECT_THAT(AdoptError(), HasSubstr("only etcd can apply"));
}

TEST_F(AdoptTest, AFileOfNobodysIsNotTakenForOurs) {
  for (const std::string& bytes : {std::string(), std::string(9000, 'x')}) {
    WriteFile(layout_.database, bytes);
    EXPECT_THAT(AdoptError(), HasSubstr("is not an etcd database"));
    EXPECT_FALSE(Exists(layout_.format));
  }
}

// An earlier adoption has kept etcd's database. That makes nothing else in `db` ours.
TEST_F(AdoptTest, WhatAnEarlierAdoptionKeptDoesNotMakeAnyFileOurs) {
  ASSERT_OK(AdoptOn(fs_));
  ASSERT_OK(ReleaseOn(fs_));
  const std::string kept = *ReadWholeFile(fs_, layout_.KeptOfEtcd(), std::uint64_t{1} << 30);
  for (const std::string& bytes : {std::string(), std::string(9000, 'x')}) {
    WriteFile(layout_.database, bytes);
    const auto adopted = AdoptOn(fs_, /*drop_old=*/true);
    ASSERT_FALSE(adopted.has_value());
    EXPECT_THAT(adopted.error().message, HasSubstr("is not an etcd database"));
    EXPECT_FALSE(Exists(layout_.format));
    EXPECT_EQ(*ReadWholeFile(fs_, layout_.KeptOfEtcd(), std::uint64_t{1} << 30), kept);
  }
}

TEST_F(AdoptTest, ADatabaseOfOursThatIsNotTheLogsIsNotTakenForTheConvertedOne) {
  ASSERT_OK(AdoptOn(fs_));
  ASSERT_OK(fs_.Remove(layout_.format));
  ASSERT_OK(fs_.Remove(layout_.database));
  {
    const auto backend = mvcc::OpenMemoryBackend(fs_, layout_.database);
    ASSERT_OK(backend);
  }
  EXPECT_THAT(AdoptError(), HasSubstr("do not belong together"));
  EXPECT_FALSE(Exists(layout_.format));
}

TEST_F(AdoptTest, NothingIsDroppedForADatabaseThatCannotBeRead) {
  ASSERT_OK(AdoptOn(fs_));
  std::string ours = *ReadWholeFile(fs_, layout_.database, std::uint64_t{1} << 30);
  for (char& byte : std::span(ours).subspan(32)) byte = static_cast<char>(byte ^ 0xff);
  WriteFile(layout_.database, ours);
  EXPECT_FALSE(AdoptOn(fs_, /*drop_old=*/true).has_value());
  EXPECT_TRUE(Exists(layout_.KeptOfEtcd()));
}

TEST_F(AdoptTest, NothingIsDroppedForADatabaseThatIsNotThere) {
  ASSERT_OK(AdoptOn(fs_));
  ASSERT_OK(fs_.Remove(layout_.database));
  const auto again = AdoptOn(fs_, /*drop_old=*/true);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Code::kNotFound);
  EXPECT_TRUE(Exists(layout_.KeptOfEtcd()));
  EXPECT_FALSE(Exists(layout_.database));
}

TEST_F(AdoptTest, NothingIsDroppedForAReleasedDatabaseThatCannotBeRead) {
  ASSERT_OK(AdoptOn(fs_));
  ASSERT_OK(ReleaseOn(fs_));
  std::string etcds = *ReadWholeFile(fs_, layout_.database, std::uint64_t{1} << 30);
  for (char& byte : std::span(etcds).subspan(8192 + 16)) byte = static_cast<char>(byte ^ 0xff);
  WriteFile(layout_.database, etcds);
  EXPECT_FALSE(ReleaseOn(fs_, /*drop_old=*/true).has_value());
  EXPECT_TRUE(Exists(layout_.KeptOfOurs()));
}

TEST_F(AdoptTest, AReleaseDropsWhatTheAdoptionBeforeItKept) {
  ASSERT_OK(AdoptOn(fs_));
  const auto released = ReleaseOn(fs_, /*drop_old=*/true);
  ASSERT_OK(released);
  EXPECT_EQ(released->kept, "");
  EXPECT_FALSE(Exists(layout_.KeptOfEtcd()));
  EXPECT_FALSE(Exists(layout_.KeptOfOurs()));
}

TEST_F(AdoptTest, AFileOfNobodysIsNotReleased) {
  ASSERT_OK(AdoptOn(fs_));
  WriteFile(layout_.database, std::string(9000, 'x'));
  const auto released = ReleaseOn(fs_);
  ASSERT_FALSE(released.has_value());
  EXPECT_EQ(released.error().code, Code::kDataLoss);
  EXPECT_THAT(released.error().message, HasSubstr("is not a kvorum database"));
  EXPECT_TRUE(Exists(layout_.format));
}

TEST_F(AdoptTest, AReceivedSnapshotBecomesTheDatabaseFirst) {
  WriteDatabase(EtcdContent(raft::Index{3}));
  const auto image = bbolt::ImageOf(EtcdContent(kMarked));
  ASSERT_OK(image);
  WriteFile(ReceivedSnapshotPath(layout_.snap, kMarked), *image);
  const auto adopted = AdoptOn(fs_);
  ASSERT_OK(adopted);
  EXPECT_EQ(adopted->applied, kMarked);
}

// Until it is known to be whole, nothing has changed.
TEST_F(AdoptTest, AReceivedSnapshotThatIsDamagedLeavesEtcdsDirectory) {
  const bbolt::Content before = EtcdContent(raft::Index{3});
  WriteDatabase(before);
  const std::string received = ReceivedSnapshotPath(layout_.snap, kMarked);
  const auto refused = [&](const std::string& bytes) {
    WriteFile(received, bytes);
    const std::string error = AdoptError();
    EXPECT_THAT(error, HasSubstr(received));
    EXPECT_EQ(*ReadEtcds(fs_, layout_.database), before);
    EXPECT_EQ(*ReadWholeFile(fs_, received, std::uint64_t{1} << 30), bytes);
    EXPECT_FALSE(Exists(layout_.KeptOfEtcd()));
    return error;
  };
  const auto image = bbolt::ImageOf(EtcdContent(kMarked));
  ASSERT_OK(image);
  std::string damaged = *image;
  const bbolt::PageId root = (*bbolt::OpenImage(damaged))->meta().root;
  damaged[(root * 4096) + 8] = '\x7f';
  EXPECT_THAT(refused(damaged), HasSubstr("page " + std::to_string(root)));
  auto content = EtcdContent(kMarked);
  content["lease"].begin()->second = "\xff";
  EXPECT_THAT(refused(bbolt::ImageOf(content).value()), HasSubstr("bucket lease"));
  EXPECT_THAT(refused(bbolt::ImageOf(EtcdContent(raft::Index{4})).value()),
              HasSubstr("do not belong together"));
}

TEST_F(AdoptTest, ADamagedSnapshotFileIsReplaced) {
  const std::string path = layout_.snap + "/0000000000000002-0000000000000005.snap";
  ASSERT_TRUE(fs_.Corrupt(path, 20, 0xff));
  ASSERT_OK(AdoptOn(fs_));
  const auto file = LoadNewestSnapshotFile(fs_, layout_.snap, [](const auto&) { return true; });
  ASSERT_OK(file);
  EXPECT_EQ((*file)->index, kMarked);
}

TEST_F(AdoptTest, RefusesWhileEtcdHasTheFileOpen) {
  const auto lock = fs_.Lock(layout_.database);
  EXPECT_THAT(AdoptError(), HasSubstr("etcd has /data/member/snap/db open"));
}

TEST_F(AdoptTest, ADirectoryOfALaterLayoutIsLeftAsItIs) {
  ASSERT_OK(AdoptOn(fs_));
  WriteFile(layout_.format, "kvorum data 2\n");
  const auto before = *fs_.List(layout_.snap);
  const auto adopted = AdoptOn(fs_, /*drop_old=*/true);
  ASSERT_FALSE(adopted.has_value());
  const auto released = ReleaseOn(fs_, /*drop_old=*/true);
  ASSERT_FALSE(released.has_value());
  const auto served = OpenDataDirectory(fs_, "/data", "");
  ASSERT_FALSE(served.has_value());
  for (const Error& error : {adopted.error(), released.error(), served.error()}) {
    EXPECT_EQ(error.code, Code::kFailedPrecondition);
    EXPECT_THAT(error.message,
                HasSubstr("does not know (/data/member/format says \"kvorum data 2\")"));
  }
  EXPECT_EQ(*fs_.List(layout_.snap), before);
}

TEST_F(AdoptTest, WhatKilledProgramsHaveLeftIsRemoved) {
  const auto leave = [&] {
    for (const char* name : {".rewrite", ".adopt.part", ".release", ".release.part"})
      WriteFile(layout_.database + name, "half of it");
    WriteFile(layout_.Releasing(), kReleaseMark);
  };
  const auto left = [&] {
    std::vector<std::string> names = *fs_.List(layout_.snap);
    std::erase_if(names, [](const std::string& name) { return !name.starts_with("db"); });
    return names;
  };
  leave();
  ASSERT_OK(AdoptOn(fs_));
  EXPECT_THAT(left(), testing::UnorderedElementsAre("db", "db.etcd"));
  leave();
  ASSERT_OK(AdoptOn(fs_));
  EXPECT_THAT(left(), testing::UnorderedElementsAre("db", "db.etcd"));
  leave();
  ASSERT_OK(OpenDataDirectory(fs_, "/data", ""));
  EXPECT_THAT(left(), testing::UnorderedElementsAre("db", "db.etcd"));
  leave();
  ASSERT_OK(ReleaseOn(fs_));
  EXPECT_THAT(left(), testing::UnorderedElementsAre("db", "db.etcd", "db.kvorum"));
}

// The one database, complete, of a release that was cut off between its renames.
TEST_F(AdoptTest, AReleasedDatabaseThatIsNotInItsPlaceYetIsNoLeftover) {
  ASSERT_OK(AdoptOn(fs_));
  ASSERT_OK(fs_.Rename(layout_.KeptOfEtcd(), layout_.Released()));
  ASSERT_OK(fs_.Rename(layout_.database, layout_.KeptOfOurs()));
  WriteFile(layout_.Releasing(), kReleaseMark);
  MarkInLog(kApplied);
  EXPECT_FALSE(OpenDataDirectory(fs_, "/data", "").has_value());
  ASSERT_OK(AdoptOn(fs_));
  EXPECT_TRUE(Exists(layout_.Released()));
  ASSERT_OK(ReleaseOn(fs_));
  EXPECT_FALSE(Exists(layout_.Releasing()));
  EXPECT_EQ(ReadEtcds(fs_, layout_.database).value(), EtcdContent());
}

TEST_F(AdoptTest, AReleaseDoesNotTakeAFileOfThatNameForItsOwn) {
  ASSERT_OK(AdoptOn(fs_));
  const auto image = bbolt::ImageOf(EtcdContent(kMarked));
  ASSERT_OK(image);
  for (const std::string& name : {layout_.Released(), layout_.Released() + ".part"}) {
    WriteFile(name, *image);
    const auto refused = ReleaseOn(fs_);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(refused.error().message, HasSubstr(name + " is in the way"));
    EXPECT_OK(OpenDataDirectory(fs_, "/data", ""));
    EXPECT_EQ(*ReadWholeFile(fs_, name, std::uint64_t{1} << 30), *image);
    ASSERT_OK(fs_.Remove(name));
  }
  EXPECT_OK(ReleaseOn(fs_));
}

TEST_F(AdoptTest, AReleaseDoesNotGoOnWithAFileThatItHasNotMade) {
  ASSERT_OK(AdoptOn(fs_));
  const auto image = bbolt::ImageOf(EtcdContent());
  ASSERT_OK(image);
  MarkInLog(kApplied);
  ASSERT_OK(fs_.Rename(layout_.database, layout_.KeptOfOurs()));
  for (const std::string& name : {layout_.Released(), layout_.database}) {
    WriteFile(name, *image);
    const auto refused = ReleaseOn(fs_);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message, name + " was made by no release of this directory");
    EXPECT_TRUE(Exists(layout_.format));
    EXPECT_EQ(*ReadWholeFile(fs_, name, std::uint64_t{1} << 30), *image);
    ASSERT_OK(fs_.Remove(name));
  }
}

TEST_F(AdoptTest, AReleaseGoesOnOnlyWithADatabaseThatIsWholeAndTheLogs) {
  ASSERT_OK(AdoptOn(fs_));
  WriteFile(layout_.Releasing(), kReleaseMark);
  ASSERT_OK(fs_.Rename(layout_.database, layout_.KeptOfOurs()));
  MarkInLog(kApplied);
  WriteFile(layout_.Released(), bbolt::ImageOf(EtcdContent(kMarked)).value());
  EXPECT_THAT(ReleaseOn(fs_).error().message, HasSubstr("where the log has no snapshot"));
  std::string damaged = bbolt::ImageOf(EtcdContent()).value();
  for (char& byte : std::span(damaged).subspan(8192 + 16)) byte = static_cast<char>(byte ^ 0xff);
  WriteFile(layout_.Released(), damaged);
  EXPECT_THAT(ReleaseOn(fs_).error().message, HasSubstr("page"));
  EXPECT_TRUE(Exists(layout_.format));
  EXPECT_FALSE(Exists(layout_.database));
}

TEST_F(AdoptTest, OneProgramAtATimeMayChangeADirectory) {
  {
    const auto lock = MemberLock::Take(fs_, layout_);
    ASSERT_OK(lock);
    EXPECT_EQ(AdoptError(), "data directory /data is in use by another process");
  }
  EXPECT_FALSE(Exists(layout_.lock)) << "etcd's directory has no such file";
  ASSERT_OK(AdoptOn(fs_));
  {
    const auto lock = MemberLock::Take(fs_, layout_);
    ASSERT_OK(lock);
    EXPECT_FALSE(ReleaseOn(fs_).has_value());
  }
  EXPECT_TRUE(Exists(layout_.lock));
}

TEST_F(AdoptTest, RefusesADatabaseOlderThanTheLogsSnapshot) {
  WriteDatabase(EtcdContent(raft::Index{3}));
  EXPECT_THAT(AdoptError(), HasSubstr("do not belong together"));
}

TEST_F(AdoptTest, RefusesADatabaseBeyondTheLog) {
  WriteDatabase(EtcdContent(kLast + 1));
  EXPECT_THAT(AdoptError(), HasSubstr("do not belong together"));
}

TEST_F(AdoptTest, RefusesAVersionThatIsNotKnown) {
  auto content = EtcdContent();
  content["meta"]["storageVersion"] = "3.8.0";
  WriteDatabase(content);
  EXPECT_THAT(AdoptError(), HasSubstr("3.8.0"));
  EXPECT_EQ(*ReadEtcds(fs_, layout_.database), content);
}

TEST_F(AdoptTest, ADamagedFileIsNamedByItsPageAndLeftAsItIs) {
  const auto reader = bbolt::Reader::Open(fs_, layout_.database);
  ASSERT_OK(reader);
  const bbolt::PageId root = (*reader)->meta().root;
  ASSERT_TRUE(fs_.Corrupt(layout_.database, (root * 4096) + 8, 0xff));
  EXPECT_THAT(AdoptError(), HasSubstr("page " + std::to_string(root)));
  EXPECT_TRUE(Exists(layout_.database));
  EXPECT_FALSE(Exists(layout_.Adopted() + ".part"));
}

TEST_F(AdoptTest, AFullDiskLeavesEtcdsDirectory) {
  fs_.FailPath(SimFileSystem::Operation::kWrite, "db.adopt", SimFileSystem::Fault::kNoSpace);
  const auto adopted = AdoptOn(fs_);
  ASSERT_FALSE(adopted.has_value());
  EXPECT_EQ(adopted.error().code, Code::kResourceExhausted);
  EXPECT_EQ(*ReadEtcds(fs_, layout_.database), EtcdContent());
  fs_.ClearFaults();
  EXPECT_OK(AdoptOn(fs_));
}

// Ours has no content, from which etcd would not start.
TEST_F(AdoptTest, ASnapshotFileIsReplacedOnlyWhenTheDatabaseIsThere) {
  const std::string path = layout_.snap + "/0000000000000002-0000000000000005.snap";
  ASSERT_TRUE(fs_.Corrupt(path, 20, 0xff));
  fs_.FailPath(SimFileSystem::Operation::kWrite, "db.adopt", SimFileSystem::Fault::kNoSpace);
  ASSERT_FALSE(AdoptOn(fs_).has_value());
  EXPECT_EQ(ReadSnapshotFile(fs_, path).error().code, Code::kDataLoss);
  fs_.ClearFaults();
  ASSERT_OK(AdoptOn(fs_));
  EXPECT_OK(ReadSnapshotFile(fs_, path));
}

TEST_F(AdoptTest, AFullDiskLeavesOurDirectory) {
  ASSERT_OK(AdoptOn(fs_));
  fs_.FailPath(SimFileSystem::Operation::kWrite, "db.release", SimFileSystem::Fault::kNoSpace);
  const auto released = ReleaseOn(fs_);
  ASSERT_FALSE(released.has_value());
  EXPECT_EQ(released.error().code, Code::kResourceExhausted);
  EXPECT_EQ(*ReadOurs(fs_, layout_.database), EtcdContent());
  fs_.ClearFaults();
  EXPECT_OK(ReleaseOn(fs_));
}

TEST_F(AdoptTest, AServerRefusesAnEtcdDirectoryAndSaysWhatToDo) {
  const auto opened = OpenDataDirectory(fs_, "/data", "");
  ASSERT_FALSE(opened.has_value());
  EXPECT_THAT(opened.error().message, HasSubstr("--adopt-etcd-data"));
  EXPECT_THAT(opened.error().message, HasSubstr("kvorumutl adopt --data-dir /data"));
}

void ExpectContent(const Result<bbolt::Content>& content) {
  ASSERT_OK(content);
  EXPECT_EQ(*content, EtcdContent());
}

TEST_F(AdoptTest, APowerCutAtAnyMomentOfAdoptLosesNothing) {
  CutAtEachOperation([&](Rng& rng) { return fs_.CrashImage(SimFileSystem::Keep::kNothing, rng); },
                     [](FileSystem& fs) {
                       const auto done = AdoptOn(fs);
                       return done.has_value();
                     },
                     [&](FileSystem& fs) {
                       ExpectContent(ReadOurs(fs, layout_.database));
                       ExpectContent(ReadEtcds(fs, layout_.KeptOfEtcd()));
                       EXPECT_OK(OpenDataDirectory(fs, "/data", ""));
                     });
}

TEST_F(AdoptTest, APowerCutAtAnyMomentLosesNoReceivedSnapshot) {
  WriteDatabase(EtcdContent(raft::Index{3}));
  WriteFile(ReceivedSnapshotPath(layout_.snap, kMarked),
            bbolt::ImageOf(EtcdContent(kMarked)).value());
  CutAtEachOperation([&](Rng& rng) { return fs_.CrashImage(SimFileSystem::Keep::kNothing, rng); },
                     [](FileSystem& fs) {
                       const auto done = AdoptOn(fs);
                       return done.has_value();
                     },
                     [&](FileSystem& fs) {
                       const auto content = ReadOurs(fs, layout_.database);
                       ASSERT_OK(content);
                       EXPECT_EQ(*content, EtcdContent(kMarked));
                       EXPECT_OK(OpenDataDirectory(fs, "/data", ""));
                     });
}

TEST_F(AdoptTest, APowerCutAtAnyMomentOfReleaseLosesNothing) {
  ASSERT_OK(AdoptOn(fs_));
  CutAtEachOperation([&](Rng& rng) { return fs_.CrashImage(SimFileSystem::Keep::kNothing, rng); },
                     [](FileSystem& fs) {
                       const auto done = ReleaseOn(fs);
                       return done.has_value();
                     },
                     [&](FileSystem& fs) {
                       ExpectContent(ReadEtcds(fs, layout_.database));
                       ExpectContent(ReadOurs(fs, layout_.KeptOfOurs()));
                       EXPECT_FALSE(*fs.Exists(layout_.format));
                       EXPECT_EQ(wal::ListMarkers(fs, layout_.wal)->back().index, kApplied);
                     });
}

}  // namespace
}  // namespace kvorum::datadir
