// A restored state is the one that the source had: the same keys, leases, roles and alarms, at any
// index, revision or time; and damage is found, never restored.
#include "server/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "archive/restore/base_reader.h"
#include "archive/restore/listing.h"
#include "archive/restore/plans.h"
#include "archive/store/folder_store.h"
#include "bbolt/reader.h"
#include "datadir/image_database.h"
#include "server/replay/replay_log.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"
#include "tests/server/replay/archived_source.h"
#include "tests/server/replica/lanes.h"

namespace kvorum::server {
namespace {

using archive::Plan;
using archive::Plans;
using archive::Target;
using archive::ToIndex;
using archive::ToLatest;
using archive::ToRevision;
using archive::ToTime;
using mvcc::Bucket;
using testing::HasSubstr;

// The result of a restore.
struct Outcome {
  Replayed state;
  std::uint32_t hash = 0;
  std::map<std::string, std::string> leases;
  std::map<std::string, std::string> roles;
  std::map<std::string, std::string> alarms;
};

std::map<std::string, std::string> Content(mvcc::Store& store, Bucket bucket) {
  std::map<std::string, std::string> content;
  const auto visited = store.ForEach(
      bucket, [&](std::string_view key, std::string_view value) { content.emplace(key, value); });
  EXPECT_TRUE(visited.has_value());
  return content;
}

class ReplayTest : public testing::Test {
 protected:
  ReplayTest() : store_(Open()) {}

  // The state in a new folder, along the first plan that leads there.
  archive::Read<Outcome> Restore(const Target& target,
                                 archive::Ahead ahead = archive::Ahead::kThread) {
    auto listing = archive::ReadListing(*store_);
    EXPECT_TRUE(listing.has_value());
    Plans plans(*store_, std::move(listing->contents), std::nullopt, target);
    while (true) {
      KV_TRY(const Plan plan, plans.Next());
      auto outcome = RestoreAlong(plans, plan, ahead);
      if (outcome.has_value()) return outcome;
      blamed_.push_back(outcome.error().object);
      if (!plans.PassOver(outcome.error())) return outcome;
    }
  }
  std::string Text(const archive::Read<Outcome>& outcome) {
    return outcome.has_value() ? "ok" : outcome.error().error.message;
  }
  void ExpectState(const archive::Read<Outcome>& outcome, const ArchivedSource& source,
                   raft::Index index) {
    ASSERT_TRUE(outcome.has_value()) << outcome.error().error.message;
    EXPECT_EQ(outcome->state.index, index);
    EXPECT_EQ(outcome->state.revision, source.StateAt(index).revision);
    EXPECT_EQ(outcome->hash, source.StateAt(index).hash) << "at index " << index.value();
    EXPECT_LE(outcome->state.time_ms, source.StateAt(index).time_ms);
  }

  std::string Object(const std::string& key) {
    return archive::ReadObject(*store_, key, archive::kMaxObjectBytes).value_or("");
  }
  void Overwrite(const std::string& key, const std::string& bytes) {
    ASSERT_TRUE(store_->Put(key, bytes, {}).has_value());
  }
  void Delete(const std::string& key) {
    const std::array keys = {key};
    ASSERT_TRUE(store_->Delete(keys).has_value());
  }
  static std::string PartKey(const archive::BaseName& base, std::uint32_t number) {
    return archive::KeyText({.history = ArchivedSource::kHistory,
                             .name = archive::PartName{.base = base, .number = number}});
  }
  static std::string ManifestKey(const archive::BaseName& base) {
    return archive::KeyText(
        {.history = ArchivedSource::kHistory, .name = archive::ManifestName{base}});
  }

  TestFolder folder_;
  archive::StopSignal stop_;
  std::unique_ptr<archive::ObjectStore> store_;
  std::vector<std::string> blamed_;

 private:
  std::unique_ptr<archive::ObjectStore> Open() {
    auto opened = archive::FolderStore::Open(PosixFileSystem(), SystemClock(), stop_,
                                             {.folder = folder_.path() + "/archive", .seed = 7});
    return std::move(opened).value();
  }

  archive::Read<Outcome> RestoreAlong(const Plans& plans, const Plan& plan, archive::Ahead ahead) {
    const TestFolder folder;
    const std::string image_path = folder.path() + "/image";
    KV_TRY(const auto file, PosixFileSystem().Open(image_path, FileSystem::OpenMode::kCreate));
    KV_TRY(const archive::ImageEnd end, archive::ReadBase(
                                            *store_, plans.BaseOf(plan),
                                            [&](std::uint64_t offset, std::string_view bytes) {
                                              const std::array parts = {bytes};
                                              return file->WriteAt(offset, parts);
                                            },
                                            {}, ahead));
    KV_TRY(const auto image, bbolt::Reader::Open(PosixFileSystem(), image_path));
    datadir::ImageDatabase options = {
        .path = folder.path() + "/db", .open = OpenTestBackend, .meta = {}};
    KV_TRY(options.meta, mvcc::ReadEtcdMeta(*image));
    KV_RETURN_IF_ERROR(datadir::MakeDatabaseOfImage(*image, options));
    KV_TRY(const auto replay, Replay::Open(PosixFileSystem(), {.folder = folder.path(),
                                                               .open = OpenTestBackend,
                                                               .to_revision = StopRevision(plan)}));
    Outcome outcome;
    KV_TRY(outcome.state, ReplayLog(*store_, plan, end.term, *replay, ahead, {}));
    KV_TRY(const mvcc::KvHash hash, replay->store().HashKv(0));
    outcome.hash = hash.hash;
    KV_RETURN_IF_ERROR(replay->Close());
    outcome.leases = Content(replay->store(), Bucket::kLease);
    outcome.roles = Content(replay->store(), Bucket::kAuthRoles);
    outcome.alarms = Content(replay->store(), Bucket::kAlarm);
    return outcome;
  }
};

TEST_F(ReplayTest, AnyIndexRevisionOrTimeIsTheStateThatTheSourceHad) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    store_ = nullptr;
    std::filesystem::remove_all(folder_.path() + "/archive");
    store_ =
        std::move(archive::FolderStore::Open(PosixFileSystem(), SystemClock(), stop_,
                                             {.folder = folder_.path() + "/archive", .seed = seed}))
            .value();
    ArchivedSource source(*store_, seed);
    source.Ship();
    source.TakeBase();
    for (int i = 0; i < 8; ++i) {
      source.AddRandom(30);
      source.Ship();
      if (i == 3) source.TakeBase();
    }
    ExpectState(Restore(ToLatest{}), source, source.last());
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t first = source.bases().front().index.value();
      const raft::Index index{first + source.rng().Below(source.last().value() - first + 1)};
      ExpectState(Restore(ToIndex{index}), source, index);
      const std::int64_t revision = source.StateAt(index).revision;
      const auto by_revision = Restore(ToRevision{revision});
      ASSERT_TRUE(by_revision.has_value()) << Text(by_revision);
      EXPECT_EQ(by_revision->state.revision, revision);
      // A base that has the revision is taken as it is.
      raft::Index expected = source.FirstWith(revision);
      for (const archive::BaseName& base : source.bases()) {
        if (base.revision == revision) expected = base.index;
      }
      ExpectState(by_revision, source, expected);
      const archive::UnixMillis time =
          source.StateAt(index).time_ms + static_cast<archive::UnixMillis>(source.rng().Below(999));
      ExpectState(Restore(ToTime{time}), source, source.LastMarkAt(time));
    }
  }
}

TEST_F(ReplayTest, LeasesRolesAndAlarmsAreAsTheyWere) {
  ArchivedSource source(*store_, 9);
  source.TakeBase();
  source.AddRandom(120);
  source.Raise(AlarmType::kNoSpace);
  source.Ship();
  const auto restored = Restore(ToLatest{});
  ExpectState(restored, source, source.last());
  // Everything is in the source's file, too.
  std::promise<void> durable;
  source.store().Flush([&] { durable.set_value(); });
  durable.get_future().get();
  EXPECT_EQ(restored->leases, Content(source.store(), Bucket::kLease));
  EXPECT_EQ(restored->roles, Content(source.store(), Bucket::kAuthRoles));
  EXPECT_EQ(restored->alarms, Content(source.store(), Bucket::kAlarm));
  EXPECT_FALSE(restored->leases.empty());
  EXPECT_FALSE(restored->roles.empty());
  EXPECT_EQ(restored->alarms.size(), 1U);
}

TEST_F(ReplayTest, ABaseWithoutItsManifestIsReadByItsParts) {
  ArchivedSource source(*store_, 3);
  source.AddRandom(100);
  source.Ship();
  source.TakeBase(/*with_manifest=*/false);
  source.AddRandom(10);
  source.Ship();
  ExpectState(Restore(ToLatest{}), source, source.last());
  EXPECT_THAT(blamed_, testing::IsEmpty());
}

TEST_F(ReplayTest, WithoutAThreadTheSameIsRead) {
  ArchivedSource source(*store_, 4);
  source.TakeBase();
  source.AddRandom(40);
  source.Ship();
  ExpectState(Restore(ToLatest{}, archive::Ahead::kNone), source, source.last());
}

// An archive with two bases, of which the second's way is damaged, or both have one.
class DamagedReplayTest : public ReplayTest {
 protected:
  DamagedReplayTest() : source_(*store_, 5) {
    source_.Ship();
    source_.TakeBase();
    source_.AddRandom(80);
    source_.Ship();
    source_.TakeBase();
    source_.AddRandom(20);
    source_.Ship();
    source_.AddRandom(20);
    source_.Ship();
  }

  // A log object behind both bases cannot be gone around.
  void ExpectNamed(const std::string& key) {
    const auto restored = Restore(ToLatest{});
    ASSERT_FALSE(restored.has_value());
    EXPECT_THAT(Text(restored), HasSubstr(key));
    EXPECT_THAT(Text(restored), HasSubstr("without it"));
    EXPECT_THAT(blamed_, testing::Contains(key));
  }

  ArchivedSource source_;
};

TEST_F(DamagedReplayTest, AFlippedBitOfALogObjectIsNamedAndWhatIsLeftIsSaid) {
  const std::string key = source_.logs()[2];
  const std::string bytes = Object(key);
  for (int i = 0; i < 20; ++i) {
    std::string damaged = bytes;
    const std::uint64_t place = source_.rng().Below(damaged.size());
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << source_.rng().Below(8)));
    Overwrite(key, damaged);
    ExpectNamed(key);
  }
  const raft::Index before = source_.bases().back().index;
  ExpectState(Restore(ToIndex{before}), source_, before);
}

TEST_F(DamagedReplayTest, ACutLogObjectIsNamed) {
  const std::string key = source_.logs().back();
  const std::string bytes = Object(key);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{9}, bytes.size() / 2, bytes.size() - 1}) {
    Overwrite(key, bytes.substr(0, size));
    ExpectNamed(key);
  }
}

// By the listing it is not there: a gap, or the end.
TEST_F(DamagedReplayTest, AMissingLogObjectIsAGap) {
  Delete(source_.logs()[2]);
  EXPECT_THAT(Text(Restore(ToLatest{})), HasSubstr("does not hold the latest state"));
  EXPECT_THAT(Text(Restore(ToIndex{source_.last()})), HasSubstr("does not hold index"));
}

TEST_F(DamagedReplayTest, SwappedLogObjectsAreNamed) {
  const std::string second = Object(source_.logs()[2]);
  const std::string third = Object(source_.logs()[3]);
  Overwrite(source_.logs()[2], third);
  Overwrite(source_.logs()[3], second);
  ExpectNamed(source_.logs()[2]);
}

TEST_F(DamagedReplayTest, ADamagedBaseIsGoneAround) {
  const std::string key = PartKey(source_.bases().back(), 0);
  const std::string bytes = Object(key);
  for (const std::string& damaged : {bytes.substr(0, bytes.size() / 2), std::string()}) {
    Overwrite(key, damaged);
    blamed_.clear();
    ExpectState(Restore(ToLatest{}), source_, source_.last());
    EXPECT_THAT(blamed_, testing::ElementsAre(key));
  }
  Delete(key);
  blamed_.clear();
  ExpectState(Restore(ToLatest{}), source_, source_.last());
  EXPECT_THAT(blamed_, testing::ElementsAre(key));
  // The other one is damaged as well: nothing is left.
  Overwrite(PartKey(source_.bases().front(), 0), "");
  EXPECT_THAT(Text(Restore(ToLatest{})), HasSubstr(key));
}

TEST_F(DamagedReplayTest, ADamagedManifestIsMadeUpForByTheParts) {
  const std::string key = ManifestKey(source_.bases().back());
  std::string bytes = Object(key);
  bytes[bytes.size() / 2] = '#';
  Overwrite(key, bytes);
  ExpectState(Restore(ToLatest{}), source_, source_.last());
  EXPECT_THAT(blamed_, testing::ElementsAre(key));
}

TEST_F(DamagedReplayTest, PartsOfAnotherBaseAreNamed) {
  const std::string key = PartKey(source_.bases().back(), 0);
  Overwrite(key, Object(PartKey(source_.bases().front(), 0)));
  ExpectState(Restore(ToLatest{}), source_, source_.last());
  EXPECT_THAT(blamed_, testing::ElementsAre(key));
}

// The state would be an earlier one than the archive knew of.
TEST_F(DamagedReplayTest, WithoutTheLastObjectTheLatestStateIsNotAnEarlierOne) {
  const std::string key = source_.logs().back();
  Overwrite(key, "");
  const auto restored = Restore(ToLatest{});
  ASSERT_FALSE(restored.has_value());
  EXPECT_THAT(Text(restored), HasSubstr("can be restored up to index"));
  const archive::UnixMillis later = source_.StateAt(source_.last()).time_ms + 5;
  EXPECT_FALSE(Restore(ToTime{later}).has_value());
}

TEST(ReplayAloneTest, EntriesThatDoNotFollowAreRefused) {
  const TestFolder folder;
  const auto replay =
      Replay::Open(PosixFileSystem(), {.folder = folder.path(), .open = OpenTestBackend});
  ASSERT_TRUE(replay.has_value()) << replay.error().message;
  const raft::Entry entry = {.term = 1, .index = 2, .type = raft::EntryType::kNormal, .data = {}};
  EXPECT_EQ((*replay)->Apply({&entry, 1}).error().code, Code::kDataLoss);
}

TEST(ReplayAloneTest, AnEntryThatCannotBeAppliedIsAnError) {
  const TestFolder folder;
  const auto replay =
      Replay::Open(PosixFileSystem(), {.folder = folder.path(), .open = OpenTestBackend});
  ASSERT_TRUE(replay.has_value()) << replay.error().message;
  const raft::Entry entry = {.term = 1,
                             .index = 1,
                             .type = raft::EntryType::kNormal,
                             .data = SharedBytes::Own("\xff\xff\xff")};
  EXPECT_FALSE((*replay)->Apply({&entry, 1}).has_value());
  EXPECT_FALSE((*replay)->Close().has_value()) << "an error is final";
}

// On a simulation's executors and disk, in one thread.
class SimulatedReplayTest : public testing::Test {
 protected:
  SimulatedReplayTest() : lanes_(/*seed=*/3) {
    SetLogLevel(LogLevel::kError);
    EXPECT_TRUE(disk_.MakeDirectories("/data").has_value());
    auto opened = Replay::Open(
        disk_,
        {.folder = "/data",
         .open = [this](const std::string& path) { return mvcc::OpenMemoryBackend(disk_, path); },
         .executors = ReplayExecutors{.apply = lanes_.apply(),
                                      .backend = lanes_.backend(),
                                      .copier = lanes_.copier(),
                                      .wait = [this](const std::function<bool()>& condition) {
                                        EXPECT_TRUE(lanes_.RunUntil(condition));
                                      }}});
    EXPECT_TRUE(opened.has_value()) << (opened.has_value() ? "" : opened.error().message);
    replay_ = std::move(opened).value();
  }

  Result<bool> Put(int count, std::size_t value_bytes) {
    std::vector<raft::Entry> entries;
    for (int i = 1; i <= count; ++i) {
      const std::uint64_t index = replay_->applied().value() + static_cast<std::uint64_t>(i);
      entries.push_back({.term = 1,
                         .index = raft::Index{index},
                         .type = raft::EntryType::kNormal,
                         .data = EncodeInternalRequest(
                             index, RequestKind::kPut,
                             PutBody("key" + std::to_string(i), std::string(value_bytes, 'v')))});
    }
    return replay_->Apply(entries);
  }

  SimFileSystem disk_;
  Lanes lanes_;
  std::unique_ptr<Replay> replay_;
};

TEST_F(SimulatedReplayTest, EverythingIsInTheFileOnceItIsClosed) {
  ASSERT_TRUE(Put(2'500, 10).has_value());
  EXPECT_EQ(replay_->revision(), 2'501);
  ASSERT_TRUE(replay_->Close().has_value());
  const auto backend = mvcc::OpenMemoryBackend(disk_, "/data/db").value();
  const auto reader = backend->NewReader();
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(mvcc::Store::ReadRecovered(**reader)->consistent_index, 2'500U);
}

TEST_F(SimulatedReplayTest, AFullDiskIsAnErrorAndNoWait) {
  ASSERT_TRUE(Put(10, 1'000).has_value());
  disk_.SetCapacity(100'000);
  Result<bool> put = true;
  for (int i = 0; i < 200 && put.has_value(); ++i) put = Put(100, 10'000);
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code, Code::kResourceExhausted);
  EXPECT_EQ(replay_->Close().error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace kvorum::server
