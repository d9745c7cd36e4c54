// Bases in parts with their manifest last, when one is due, and what retention deletes of a store.
#include "archive/ship/base_shipper.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "archive/ship/base_desk.h"
#include "archive/ship/pruner.h"
#include "tests/archive/ship/archive_model.h"
#include "tests/archive/store/clocked_stop.h"
#include "tests/manual_clock.h"

namespace kvorum::archive {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr HistoryId kLine = 0x5;
constexpr std::size_t kSmallPart = 2'000;

class BaseShipperTest : public testing::Test {
 protected:
  BaseShipperTest() {
    log_.Add(7, 2);
    member_.Apply();
    member_.Lead();
  }
  std::size_t KeysWith(std::string_view part) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        bucket_.objects, [&](const auto& object) { return object.first.contains(part); }));
  }

  CommittedLog log_;
  ManualClock clock_;
  Bucket bucket_;
  ClockedStop stop_{clock_};
  ArchiveStatus status_;
  FakeMember member_{log_, clock_};
  BaseShipper bases_{member_, clock_, stop_, status_, kSmallPart};
  MemoryStore store_{bucket_};
};

TEST_F(BaseShipperTest, AnImageIsStoredInParts) {
  for (const std::size_t size : {std::size_t{1}, kSmallPart, 3 * kSmallPart + 1}) {
    member_.image_size_bytes = size;
    clock_.Advance(seconds(1));
    const auto base = bases_.Ship(store_, kLine, 0, 0);
    ASSERT_TRUE(base.has_value()) << base.error().text;
    EXPECT_EQ(base->index, 7U);
    EXPECT_EQ(base->revision, log_.RevisionAt(7));
    EXPECT_EQ(base->time_ms, clock_.WallNanos() / 1'000'000);
    EXPECT_TRUE(ReadImage(bucket_, kLine, *base) == ImageBytes(7, log_.RevisionAt(7), size));
  }
  EXPECT_EQ(status_.bases.value(), 3U);
  EXPECT_EQ(bucket_.overwritten, 0U);
}

TEST_F(BaseShipperTest, APartOfFullSizeFitsAnObject) {
  member_.image_size_bytes = kPartBytes + 1;
  const auto base = BaseShipper(member_, clock_, stop_, status_).Ship(store_, kLine, 0, 0);
  ASSERT_TRUE(base.has_value()) << base.error().text;
  EXPECT_EQ(KeysWith("part-"), 2U);
  EXPECT_TRUE(ReadImage(bucket_, kLine, *base) ==
              ImageBytes(7, log_.RevisionAt(7), kPartBytes + 1));
}

TEST_F(BaseShipperTest, ABaseIsNotOfATimeBeforeItsLine) {
  const auto base = bases_.Ship(store_, kLine, 5'000'000, 0);
  EXPECT_EQ(base->time_ms, 5'000'000);
}

TEST_F(BaseShipperTest, AnImageThatIsGivenUpLeavesNoManifest) {
  member_.images_that_fail = 1;
  member_.image_size_bytes = 5'000;
  EXPECT_FALSE(bases_.Ship(store_, kLine, 0, 0).has_value());
  EXPECT_EQ(KeysWith("part-"), 1U);
  EXPECT_EQ(KeysWith("manifest"), 0U);
  EXPECT_EQ(status_.abandoned_bases.value(), 1U);
  clock_.Advance(seconds(1));
  EXPECT_TRUE(bases_.Ship(store_, kLine, 0, 0).has_value());
  EXPECT_EQ(KeysWith("manifest"), 1U);
}

TEST_F(BaseShipperTest, AnImageFromWhichTheLogDoesNotLeadOnIsNoBase) {
  const auto base = bases_.Ship(store_, kLine, 0, 8);
  EXPECT_EQ(base.error().text,
            "the database is not durable up to entry 8, which the archive begins behind");
  EXPECT_TRUE(bucket_.objects.empty());
  EXPECT_TRUE(bases_.Ship(store_, kLine, 0, 7).has_value());
}

TEST_F(BaseShipperTest, ADeposedLeaderGivesItsBaseUp) {
  member_.image_size_bytes = 5'000;
  MemoryStore store(bucket_, [&](MemoryStore::Call, const std::string&) {
    member_.Lead(false);
    return MemoryStore::Fault::kNot;
  });
  EXPECT_EQ(bases_.Ship(store, kLine, 0, 0).error().text, "another member leads");
  EXPECT_EQ(KeysWith("manifest"), 0U);
}

TEST_F(BaseShipperTest, AnErrorOfTheStoreGivesTheBaseUp) {
  for (const auto fault : {MemoryStore::Fault::kBefore, MemoryStore::Fault::kBehind}) {
    MemoryStore store(bucket_, [&](MemoryStore::Call, const std::string&) { return fault; });
    EXPECT_EQ(bases_.Ship(store, kLine, 0, 0).error().kind, ShipErrorKind::kStore);
    clock_.Advance(seconds(1));
  }
  EXPECT_EQ(KeysWith("manifest"), 0U);
}

// Entries are applied while the base is written: the image is of the moment when it was opened.
TEST_F(BaseShipperTest, WritesGoOnMeanwhile) {
  member_.image_size_bytes = 5'000;
  MemoryStore store(bucket_, [&](MemoryStore::Call, const std::string&) {
    log_.Add(5, 2);
    member_.Apply();
    return MemoryStore::Fault::kNot;
  });
  const auto base = bases_.Ship(store, kLine, 0, 0);
  ASSERT_TRUE(base.has_value());
  EXPECT_EQ(base->index, 7U);
  EXPECT_GT(member_.applied(), 7U);
  EXPECT_TRUE(ReadImage(bucket_, kLine, *base) ==
              ImageBytes(7, log_.RevisionAt(7), member_.image_size_bytes));
}

TEST_F(BaseShipperTest, TheImageIsLookedAfterWhileTheStoreIsSlow) {
  MemoryStore store(bucket_, [&](MemoryStore::Call, const std::string&) {
    while (member_.looks < 2) std::this_thread::yield();
    return MemoryStore::Fault::kNot;
  });
  EXPECT_TRUE(bases_.Ship(store, kLine, 0, 0).has_value());
  EXPECT_GE(member_.looks, 2);
}

TEST(BaseScheduleTest, ABaseIsDueAtTheStartThenByTheInterval) {
  ManualClock clock;
  clock.JumpWall(hours(10));
  BaseSchedule schedule(clock, hours(1));
  const auto now_ms = [&] { return clock.WallNanos() / 1'000'000; };
  LogShipper::Line line;
  line.applied = 5;
  EXPECT_TRUE(schedule.IsDue(line, std::nullopt));
  const BaseName base = {.index = 5, .revision = 2, .time_ms = now_ms()};
  EXPECT_FALSE(schedule.IsDue(line, base));
  clock.Advance(hours(2));
  EXPECT_FALSE(schedule.IsDue(line, base)) << "nothing was applied since";
  line.applied = 6;
  EXPECT_TRUE(schedule.IsDue(line, base));
  line.least_base = 6;
  const BaseName later = {.index = 5, .revision = 2, .time_ms = now_ms()};
  EXPECT_TRUE(schedule.IsDue(line, later)) << "no base leads on from the gap";
}

TEST(BaseScheduleTest, AClockThatGoesBackDoesNotPutABaseOff) {
  ManualClock clock;
  clock.JumpWall(hours(10));
  BaseSchedule schedule(clock, hours(1));
  LogShipper::Line line;
  line.applied = 9;
  const BaseName base = {.index = 5, .revision = 2, .time_ms = clock.WallNanos() / 1'000'000};
  EXPECT_FALSE(schedule.IsDue(line, base));
  clock.JumpWall(-hours(9));
  clock.Advance(hours(1));
  EXPECT_TRUE(schedule.IsDue(line, base));
}

class PrunerTest : public BaseShipperTest {
 protected:
  // A base at each of these moments, an hour apart, with a log object between them.
  void Fill(int bases) {
    PutHistory({.id = kLine, .cluster_id = 9, .reason = "new", .first = 8});
    LogEnd end;
    for (int i = 0; i < bases; ++i) {
      const auto base = bases_.Ship(store_, kLine, 0, 0);
      ASSERT_TRUE(base.has_value());
      clock_.Advance(hours(1));
      const raft::Index first = log_.last() + 1;
      log_.Add(3, 2);
      member_.Apply();
      const std::vector<raft::Entry> entries(log_.entries.end() - 3, log_.entries.end());
      const LogObject object = MakeLogObject(kLine, end, entries, {member_.NewestMark()}, "");
      EXPECT_EQ(entries.front().index, first);
      end = object.end;
      bucket_.objects[object.end.key] = object.bytes;
    }
  }
  void PutHistory(const HistoryRecord& record) {
    bucket_.objects[KeyText({.history = record.id, .name = HistoryFileName{}})] = ToJson(record);
  }
  PruneCounts PruneNow(const RetentionOptions& options, HistoryId head = kLine) {
    const auto retention = FindRetention(store_, head, options, clock_.WallNanos() / 1'000'000);
    EXPECT_TRUE(retention.has_value());
    const auto counts = Prune(store_, *retention);
    EXPECT_TRUE(counts.has_value());
    return *counts;
  }
  std::string Ranges() const {
    std::string text;
    const Contents contents = ContentsOf(bucket_);
    for (const auto& [id, history] : contents.histories) {
      for (const Restorable& one : history.Restorables())
        text +=
            std::to_string(one.base.index.value()) + "-" + std::to_string(one.last.value()) + " ";
    }
    return text;
  }
};

TEST_F(PrunerTest, WhatIsTooOldGoes) {
  Fill(4);
  EXPECT_EQ(Ranges(), "7-19 10-19 13-19 16-19 ");
  EXPECT_EQ(PruneNow({}).deleted, 0U);
  const PruneCounts counts = PruneNow({.keep_for_ms = 90 * 60'000});
  EXPECT_EQ(Ranges(), "13-19 16-19 ") << "an hour and a half ago the state was that of base 13";
  EXPECT_EQ(counts.deleted, 2U * 2 + 2) << "two bases of a part and a manifest, two log objects";
  EXPECT_EQ(PruneNow({.keep_for_ms = 90 * 60'000}).deleted, 0U);
  PruneNow({.keep_bases = 1});
  EXPECT_EQ(Ranges(), "16-19 ");
  clock_.Advance(hours(10'000));
  PruneNow({.keep_for_ms = 1, .keep_bases = 1});
  EXPECT_EQ(Ranges(), "16-19 ") << "the newest base stays at any age";
}

TEST_F(PrunerTest, LockedObjectsStayAndAreCounted) {
  Fill(3);
  for (const auto& [key, bytes] : bucket_.objects) {
    if (key.contains("manifest")) bucket_.locks[key] = "COMPLIANCE until 2027";
  }
  const PruneCounts counts = PruneNow({.keep_bases = 1});
  EXPECT_EQ(counts.deleted, 0U);
  EXPECT_EQ(counts.locked, 2U);
  EXPECT_EQ(counts.lock, "COMPLIANCE until 2027");
  EXPECT_EQ(Ranges(), "7-16 10-16 13-16 ") << "and with them all that a restore needs";
  // Only the older one's lock has ended: log objects still wait for the other's.
  bucket_.locks.erase(bucket_.locks.begin());
  EXPECT_EQ(PruneNow({.keep_bases = 1}).deleted, 2U);
  EXPECT_EQ(Ranges(), "10-16 13-16 ");
}

// Wherever the deletion ends, each base that is left has all its parts and its log.
TEST_F(PrunerTest, ADeletionThatIsCutShortLeavesWholeBases) {
  member_.image_size_bytes = 3'000;
  Fill(3);
  const auto whole = bucket_.objects;
  for (int calls = 0;; ++calls) {
    bucket_.objects = whole;
    int left = calls;
    MemoryStore store(bucket_, [&](MemoryStore::Call, const std::string&) {
      return left-- > 0 ? MemoryStore::Fault::kNot : MemoryStore::Fault::kBehind;
    });
    const auto retention =
        FindRetention(store_, kLine, {.keep_bases = 1}, clock_.WallNanos() / 1'000'000);
    const bool is_done = Prune(store, *retention).has_value();
    const Contents contents = ContentsOf(bucket_);
    for (const Restorable& one : contents.histories.at(kLine).Restorables()) {
      EXPECT_EQ(one.last, 16U);
      EXPECT_TRUE(ReadImage(bucket_, kLine, one.base) ==
                  ImageBytes(one.base.index, one.base.revision, 3'000));
    }
    if (is_done) break;
  }
}

TEST_F(PrunerTest, AnUnfinishedBaseGoesADayLater) {
  Fill(1);
  member_.image_size_bytes = 5'000;
  member_.images_that_fail = 1;
  EXPECT_FALSE(bases_.Ship(store_, kLine, 0, 0).has_value());
  member_.image_size_bytes = 1'000;
  clock_.Advance(hours(1));
  Fill(1);
  const std::size_t objects = bucket_.objects.size();
  EXPECT_EQ(PruneNow({}).deleted, 0U);
  clock_.Advance(hours(23));
  EXPECT_EQ(PruneNow({}).deleted, 1U);
  EXPECT_EQ(bucket_.objects.size(), objects - 1);
}

TEST_F(PrunerTest, AParentGoesOnceNothingIsRestoredThroughIt) {
  Fill(2);
  const std::size_t of_parent = bucket_.objects.size();
  constexpr HistoryId kChild = 0x6;
  PutHistory({.id = kChild,
              .cluster_id = 9,
              .reason = "force-new-cluster",
              .first = 11,
              .parent = Origin{.history = kLine, .index = 10, .revision = log_.RevisionAt(10)}});
  ASSERT_TRUE(bases_.Ship(store_, kChild, 0, 0).has_value());
  const RetentionOptions options = {.keep_for_ms = 2 * 3'600'000};
  EXPECT_EQ(PruneNow(options, kChild).deleted, 0U) << "the parent's states are young enough";
  // The parent's cluster is alive: its own leader deletes what is old.
  clock_.Advance(hours(3));
  const ObjectKey mark = {.history = kLine, .name = MarkName{}};
  bucket_.objects[KeyText(mark)] =
      ToJson(Mark{.time_ms = clock_.WallNanos() / 1'000'000, .index = 13, .revision = 1});
  EXPECT_EQ(PruneNow(options, kChild).deleted, 0U);
  clock_.Advance(hours(25));
  EXPECT_EQ(PruneNow(options, kChild).deleted, of_parent - 1) << "all but its record";
  EXPECT_EQ(KeysWith("mark.json"), 1U);
}

}  // namespace
}  // namespace kvorum::archive
