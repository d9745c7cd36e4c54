// The log's way into the archive, an interval at a time: who begins where, and what is refused.
#include "archive/ship/log_shipper.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "archive/ship/archive_reader.h"
#include "archive/ship/base_shipper.h"
#include "tests/archive/ship/archive_model.h"
#include "tests/archive/store/clocked_stop.h"
#include "tests/manual_clock.h"

namespace kvorum::archive {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kCluster = 9;

// A member with its shipper, over the test's bucket.
struct Site {
  Site(CommittedLog& log, ManualClock& clock, Bucket& bucket, std::uint64_t id,
       bool new_history = false, std::uint64_t cluster_id = kCluster)
      : member(log, clock, cluster_id, id),
        clocked_stop(clock),
        is_new_history(new_history),
        manual_clock(clock),
        store(bucket, [this](MemoryStore::Call call, const std::string& key) {
          return on_call ? on_call(call, key) : MemoryStore::Fault::kNot;
        }) {
    Restart();
  }

  void Restart() {
    shipper =
        std::make_unique<LogShipper>(member, manual_clock, clocked_stop, status, is_new_history);
  }
  ShipResult<void> Step() { return shipper->Step(store); }
  // "" or the error's text.
  std::string StepText() {
    const auto done = Step();
    return done.has_value() ? "" : done.error().text;
  }
  ShipResult<BaseName> MakeBase() {
    const auto line = shipper->line();
    if (!line) return ShipFail(ShipErrorKind::kMember, "no line");
    BaseShipper bases(member, manual_clock, clocked_stop, status);
    return bases.Ship(store, line->history.id, line->time_ms, line->least_base);
  }

  FakeMember member;
  ClockedStop clocked_stop;
  ArchiveStatus status;
  const bool is_new_history;
  ManualClock& manual_clock;
  MemoryStore::Hook on_call;
  MemoryStore store;
  std::unique_ptr<LogShipper> shipper;
};

class LogShipperTest : public testing::Test {
 protected:
  // "first-last ..." of the log objects of a history, in order.
  std::string Logs(HistoryId history = HistoryIdOf(0, kCluster, "new", 0)) {
    std::string text;
    const Contents contents = ContentsOf(bucket_);
    const auto found = contents.histories.find(history);
    if (found == contents.histories.end()) return "no history";
    for (const LogName& log : found->second.logs)
      text += (text.empty() ? "" : " ") + std::to_string(log.first.value()) + "-" +
              std::to_string(log.last.value());
    return text;
  }
  // The last entry of the state that a plan leads to; 0 if there is none.
  std::uint64_t Restored(const Target& target, std::optional<HistoryId> history = std::nullopt) {
    const auto plan = MakePlan(ContentsOf(bucket_), history, target);
    if (!plan) return 0;
    const auto state = Follow(bucket_, *plan, log_, 1'000);
    return state ? state->last.value() : 0;
  }
  void Add(std::uint64_t count, std::uint64_t term, std::initializer_list<Site*> sites) {
    log_.Add(count, term);
    for (Site* site : sites) site->member.Apply();
  }

  CommittedLog log_;
  ManualClock clock_;
  Bucket bucket_;
  Site one_{log_, clock_, bucket_, 1};
  Site two_{log_, clock_, bucket_, 2};
};

TEST_F(LogShipperTest, AnEmptyArchiveGetsAHistoryAndTheNextEntries) {
  Add(4, 1, {&one_});
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "") << "what was there before is in the first base";
  ASSERT_TRUE(one_.MakeBase().has_value());
  Add(6, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "5-10");
  Add(1, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "5-10 11-11");
  EXPECT_EQ(Restored(ToLatest{}), 11U);
  EXPECT_EQ(Restored(ToIndex{7}), 7U);
  EXPECT_EQ(one_.member.kept_behind(), 11U);
  EXPECT_EQ(one_.status.values().state, ShipState::kArchiving);
  EXPECT_EQ(one_.status.values().archived.index, 11U);
  EXPECT_EQ(one_.status.values().archived.revision, log_.RevisionAt(11));
  EXPECT_EQ(one_.status.log_objects.value(), 2U);
}

TEST_F(LogShipperTest, NothingIsWrittenInAnIdleInterval) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  std::uint64_t calls = 0;
  one_.on_call = [&](MemoryStore::Call, const std::string&) {
    ++calls;
    return MemoryStore::Fault::kNot;
  };
  for (int i = 0; i < 9; ++i) {
    clock_.Advance(seconds(1));
    ASSERT_EQ(one_.StepText(), "");
  }
  EXPECT_EQ(calls, 0U);
  clock_.Advance(seconds(1));
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(calls, 1U) << "the mark shows that the archive's writer lives";
  const auto mark = ReadMark(one_.store, HistoryIdOf(0, kCluster, "new", 0));
  EXPECT_EQ((*mark)->time_ms, clock_.WallNanos() / 1'000'000);
}

TEST_F(LogShipperTest, ARestartedLeaderGoesOnWhereTheArchiveStands) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  Add(5, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  one_.member.Restart();
  one_.Restart();
  Add(3, 2, {&one_});
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "1-5 6-8");
  const Contents contents = ContentsOf(bucket_);
  const History& history = contents.histories.begin()->second;
  const auto read = [&](std::size_t i) {
    const ObjectKey key = {.history = contents.histories.begin()->first, .name = history.logs[i]};
    return std::pair(KeyText(key), ReadLogObject(key, bucket_.objects.at(KeyText(key)))->header);
  };
  EXPECT_EQ(read(1).second.previous, read(0).first);
  EXPECT_EQ(read(1).second.previous_crc, read(0).second.end_crc);
}

TEST_F(LogShipperTest, AFollowerKeepsItsLogBehindTheMark) {
  Add(3, 1, {&one_, &two_});
  one_.member.Lead();
  ASSERT_EQ(two_.StepText(), "");
  EXPECT_EQ(two_.member.kept_behind(), 0U) << "there is no archive yet";
  ASSERT_EQ(one_.StepText(), "");
  Add(4, 1, {&one_, &two_});
  ASSERT_EQ(one_.StepText(), "");
  clock_.Advance(seconds(10));
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_EQ(two_.StepText(), "");
  EXPECT_EQ(two_.member.kept_behind(), 7U);
  EXPECT_EQ(two_.status.values().state, ShipState::kFollowing);
  EXPECT_EQ(two_.status.values().archived.index, 7U);
  EXPECT_EQ(two_.status.lag_ms, 0);
}

TEST_F(LogShipperTest, LeadersTakeTurns) {
  ASSERT_EQ(one_.StepText(), "");
  for (std::uint64_t term = 1; term <= 6; ++term) {
    Site& leader = term % 2 == 1 ? one_ : two_;
    Site& other = term % 2 == 1 ? two_ : one_;
    other.member.Lead(false);
    leader.member.Lead();
    Add(3, term, {&one_, &two_});
    ASSERT_EQ(other.StepText(), "");
    ASSERT_EQ(leader.StepText(), "");
    clock_.Advance(seconds(1));
  }
  EXPECT_EQ(Logs(), "4-6 7-9 10-12 13-15 16-18");
  EXPECT_EQ(bucket_.overwritten, 0U);
}

// A deposed leader goes on with what it knows to be committed. Its objects say the same.
TEST_F(LogShipperTest, ADeposedLeadersObjectsOverlapAndDoNoHarm) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_TRUE(one_.MakeBase().has_value());
  log_.Add(10, 1);
  one_.member.Apply(6);
  two_.member.Apply(10);
  two_.member.Lead();
  ASSERT_EQ(two_.StepText(), "");
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "1-6 1-10");
  log_.Add(5, 2);
  two_.member.Apply();
  ASSERT_EQ(two_.StepText(), "");
  EXPECT_EQ(Restored(ToLatest{}), 15U);
  EXPECT_EQ(Restored(ToIndex{4}), 4U);
  EXPECT_EQ(bucket_.overwritten, 0U);
}

TEST_F(LogShipperTest, AnEqualObjectIsASuccess) {
  Site twin(log_, clock_, bucket_, 1);
  one_.member.Lead();
  twin.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_EQ(twin.StepText(), "");
  Add(4, 1, {&one_, &twin});
  ASSERT_EQ(one_.StepText(), "");
  std::uint64_t lists = 0;
  twin.on_call = [&](MemoryStore::Call call, const std::string&) {
    lists += call == MemoryStore::Call::kList ? 1 : 0;
    return MemoryStore::Fault::kNot;
  };
  ASSERT_EQ(twin.StepText(), "");
  EXPECT_EQ(lists, 0U);
  EXPECT_EQ(Logs(), "1-4");
}

TEST_F(LogShipperTest, AnotherObjectOfTheNameIsGoneOnFrom) {
  one_.member.Lead();
  two_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_EQ(two_.StepText(), "");
  Add(4, 1, {&one_, &two_});
  // The marks and so the names are equal, and the metadata is not: the members differ.
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_EQ(two_.StepText(), "");
  EXPECT_EQ(Logs(), "1-4");
  Add(2, 1, {&one_, &two_});
  ASSERT_EQ(two_.StepText(), "");
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "1-4 5-6");
  EXPECT_EQ(bucket_.overwritten, 0U);
}

TEST_F(LogShipperTest, AnObjectWhoseAnswerWasLostIsFound) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  Add(4, 1, {&one_});
  bool loses = true;
  one_.on_call = [&](MemoryStore::Call call, const std::string& key) {
    const bool is_log = call == MemoryStore::Call::kPut && key.contains("/log/");
    return is_log && std::exchange(loses, false) ? MemoryStore::Fault::kBehind
                                                 : MemoryStore::Fault::kNot;
  };
  EXPECT_EQ(one_.StepText(), "the store is away");
  Add(2, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "1-4 5-6");
}

TEST_F(LogShipperTest, WhatTheLogNoLongerHasIsAGap) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_TRUE(one_.MakeBase().has_value());
  Add(4, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  Add(10, 1, {&one_});
  one_.member.TrimBefore(10);
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "1-4 10-14");
  EXPECT_EQ(one_.status.gaps.value(), 1U);
  EXPECT_EQ(one_.shipper->line()->least_base, 9U);
  EXPECT_EQ(Restored(ToIndex{4}), 4U);
  EXPECT_EQ(Restored(ToIndex{12}), 0U) << "nothing is restored over a gap";
  ASSERT_TRUE(one_.MakeBase().has_value());
  Add(2, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Restored(ToLatest{}), 16U);
  // The next leader sees the gap, too, and does not declare it anew.
  two_.member.Apply();
  two_.member.Lead();
  ASSERT_EQ(two_.StepText(), "");
  EXPECT_EQ(two_.shipper->line()->least_base, 9U);
  EXPECT_EQ(two_.status.gaps.value(), 0U);
}

TEST_F(LogShipperTest, ARecreatedClusterWithTheSameIdIsRefused) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  Add(20, 2, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  CommittedLog other;
  other.Add(30, 1);
  Site recreated(other, clock_, bucket_, 1);
  recreated.member.Apply();
  recreated.member.Lead();
  EXPECT_TRUE(recreated.StepText().contains("the archive is of other data"));
  EXPECT_EQ(recreated.Step().error().kind, ShipErrorKind::kRefused);
  EXPECT_EQ(recreated.member.kept_behind(), 0U) << "its log is not kept for nothing";
  // Terms are compared if its log begins later.
  recreated.member.TrimBefore(25);
  EXPECT_TRUE(recreated.StepText().contains("the later term 2"));
  EXPECT_EQ(Logs(), "1-20");
}

TEST_F(LogShipperTest, AnArchiveThatIsAheadIsWaitedForAndThenRefused) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  Add(20, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  two_.member.Apply(5);
  two_.member.Lead();
  ASSERT_EQ(two_.StepText(), "");
  EXPECT_FALSE(two_.shipper->line().has_value());
  clock_.Advance(seconds(29));
  two_.member.Apply(10);
  ASSERT_EQ(two_.StepText(), "");
  clock_.Advance(seconds(29));
  ASSERT_EQ(two_.StepText(), "") << "it applies what its predecessor archived";
  clock_.Advance(seconds(1));
  EXPECT_TRUE(two_.StepText().contains("the archive has entries up to 20"));
  two_.member.Apply(20);
  EXPECT_EQ(two_.StepText(), "");
  EXPECT_TRUE(two_.shipper->line().has_value());
}

TEST_F(LogShipperTest, AnAskedHistoryNamesTheOneThatItLeft) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_TRUE(one_.MakeBase().has_value());
  Add(20, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  // A member whose disk was set back has the entries up to 8, and then others.
  CommittedLog other;
  other.Add(8, 1);
  Site set_back(other, clock_, bucket_, 1, true);
  set_back.member.Apply();
  set_back.member.Lead();
  ASSERT_EQ(set_back.StepText(), "");
  clock_.Advance(seconds(31));
  ASSERT_EQ(set_back.StepText(), "");
  ASSERT_TRUE(set_back.shipper->line().has_value());
  const HistoryRecord record = set_back.shipper->line()->history;
  EXPECT_EQ(record.reason, "asked");
  EXPECT_EQ(record.parent, (Origin{.history = HistoryIdOf(0, kCluster, "new", 0),
                                   .index = 8,
                                   .revision = other.RevisionAt(8)}));
  ASSERT_TRUE(set_back.MakeBase().has_value());
  other.Add(3, 4);
  set_back.member.Apply();
  ASSERT_EQ(set_back.StepText(), "");
  EXPECT_EQ(Logs(record.id), "9-11");
  set_back.member.Restart();
  set_back.Restart();
  set_back.member.Lead();
  ASSERT_EQ(set_back.StepText(), "");
  EXPECT_EQ(set_back.shipper->line()->history, record) << "it fits from now on";
}

TEST_F(LogShipperTest, ARestoredClusterBeginsAHistoryOnce) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  Add(20, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  const HistoryId parent = HistoryIdOf(0, kCluster, "new", 0);
  const Departure departure = {
      .reason = "restore",
      .origin = {.history = parent, .index = 12, .revision = log_.RevisionAt(12)}};
  CommittedLog restored;
  restored.Add(2, 1);
  Site first(restored, clock_, bucket_, 1, false, 77);
  Site second(restored, clock_, bucket_, 2, false, 77);
  for (Site* site : {&first, &second}) {
    site->member.Depart(departure);
    site->member.Apply();
  }
  first.member.Lead();
  ASSERT_EQ(first.StepText(), "");
  const HistoryRecord record = first.shipper->line()->history;
  EXPECT_EQ(record.parent, departure.origin);
  EXPECT_EQ(record.first, 3U);
  restored.Add(4, 2);
  first.member.Apply();
  second.member.Apply();
  first.member.Lead(false);
  second.member.Lead();
  ASSERT_EQ(second.StepText(), "");
  EXPECT_EQ(second.shipper->line()->history, record);
  EXPECT_EQ(Logs(record.id), "3-6");
  // The cluster that was restored from goes on in its own.
  Add(2, 1, {&one_});
  one_.Restart();
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "1-20 21-22");
}

TEST_F(LogShipperTest, AForcedNewClusterLeavesTheNewestHistory) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  Add(20, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  CommittedLog forced;
  forced.Add(15, 1);
  forced.Add(10, 3);
  Site site(forced, clock_, bucket_, 2);
  site.member.Depart({.reason = "force-new-cluster", .origin = {.index = 15, .revision = 11}});
  site.member.Apply();
  site.member.Lead();
  clock_.Advance(seconds(1));
  ASSERT_EQ(site.StepText(), "");
  const HistoryRecord record = site.shipper->line()->history;
  EXPECT_EQ(record.reason, "force-new-cluster");
  EXPECT_EQ(record.parent->history, HistoryIdOf(0, kCluster, "new", 0));
  // A member that joined it has no departure, and a restarted one has the same.
  Site joined(forced, clock_, bucket_, 3);
  joined.member.Apply();
  site.Restart();
  for (Site* leader : {&site, &joined}) {
    leader->member.Lead();
    ASSERT_EQ(leader->StepText(), "");
    EXPECT_EQ(leader->shipper->line()->history, record);
  }
}

TEST_F(LogShipperTest, TimesDoNotGoBackWithTheClock) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_TRUE(one_.MakeBase().has_value());
  clock_.Advance(hours(2));
  Add(3, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  const UnixMillis before = clock_.WallNanos() / 1'000'000;
  clock_.JumpWall(-hours(1));
  Add(3, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_TRUE(one_.MakeBase().has_value());
  Add(3, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Restored(ToTime{before}), 9U);
  EXPECT_EQ(Restored(ToTime{before - 1}), 0U) << "the base's own state";
  const Contents contents = ContentsOf(bucket_);
  for (const auto& [id, history] : contents.histories) {
    EXPECT_EQ(history.logs.back().time_ms, before);
    EXPECT_EQ(history.bases.back().name.time_ms, before);
  }
}

// After a restart the place where the member started is the only mark for all that is before it.
TEST_F(LogShipperTest, BetweenMarksObjectsHaveBoundsOfTheirPlaces) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_TRUE(one_.MakeBase().has_value());
  Add(3, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  clock_.Advance(seconds(60));
  log_.Add(5, 1, 4'000'000);
  one_.member.Apply();
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "1-3 4-5 6-7 8-8");
  const Contents contents = ContentsOf(bucket_);
  const auto& logs = contents.histories.begin()->second.logs;
  EXPECT_EQ(logs[1].revision, log_.RevisionAt(3)) << "at least";
  EXPECT_EQ(logs[1].time_ms, clock_.WallNanos() / 1'000'000) << "at the latest";
  EXPECT_EQ(logs[3].revision, log_.RevisionAt(8));
  for (std::int64_t revision = 2; revision <= log_.RevisionAt(8); ++revision) {
    const std::uint64_t index = Restored(ToRevision{revision});
    EXPECT_EQ(log_.RevisionAt(raft::Index{index}), revision);
  }
}

TEST_F(LogShipperTest, AnEntryThatNoObjectHoldsIsAGap) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  Add(1, 1, {&one_});
  log_.Add(1, 1, kMaxObjectBytes);
  Add(1, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "1-1 3-3");
  EXPECT_EQ(one_.shipper->line()->least_base, 2U);
}

TEST_F(LogShipperTest, AfterAnOutageAllFollowsInOneStep) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  ASSERT_TRUE(one_.MakeBase().has_value());
  bool is_away = true;
  one_.on_call = [&](MemoryStore::Call, const std::string&) {
    return is_away ? MemoryStore::Fault::kBefore : MemoryStore::Fault::kNot;
  };
  for (int i = 0; i < 30; ++i) {
    log_.Add(10, 1, 100'000);
    one_.member.Apply();
    EXPECT_EQ(one_.StepText(), "the store is away");
    clock_.Advance(seconds(1));
  }
  EXPECT_EQ(one_.status.lag_ms, 29'000);
  is_away = false;
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(one_.status.lag_ms, 0);
  EXPECT_EQ(Restored(ToLatest{}), 300U);
  const Contents contents = ContentsOf(bucket_);
  for (const auto& log : contents.histories.begin()->second.logs)
    EXPECT_LE((log.last - log.first + 1) * 100'000, kShippedBytes);
}

TEST_F(LogShipperTest, ADamagedNewestObjectIsRefused) {
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  Add(4, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  for (auto& [key, bytes] : bucket_.objects) {
    if (key.contains("/log/")) bytes[bytes.size() / 2] ^= 1;
  }
  one_.Restart();
  EXPECT_TRUE(one_.StepText().contains("/log/"));
  EXPECT_EQ(one_.Step().error().kind, ShipErrorKind::kRefused);
}

TEST_F(LogShipperTest, ForeignNamesBesideAHistoryArePassedOver) {
  bucket_.objects["aaa"] = "x";
  bucket_.objects["lost+found/x"] = "x";
  bucket_.objects["zzz/y/z"] = "x";
  one_.member.Lead();
  ASSERT_EQ(one_.StepText(), "");
  Add(4, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  one_.Restart();
  Add(1, 1, {&one_});
  ASSERT_EQ(one_.StepText(), "");
  EXPECT_EQ(Logs(), "1-4 5-5");
}

TEST_F(LogShipperTest, AnotherLineUnderOurHistorysIdIsRefused) {
  const HistoryId id = HistoryIdOf(0, kCluster, "new", 0);
  bucket_.objects[KeyText({.history = id, .name = HistoryFileName{}})] =
      ToJson(HistoryRecord{.id = id, .cluster_id = 1, .reason = "new", .first = 1});
  one_.member.Lead();
  EXPECT_TRUE(one_.StepText().contains("it is the record of other data"));
}

TEST(HistoryIdTest, TheIdFollowsFromItsBeginning) {
  EXPECT_EQ(HistoryIdOf(0, 1, "new", 0), HistoryIdOf(0, 1, "new", 0));
  EXPECT_NE(HistoryIdOf(0, 1, "new", 0), HistoryIdOf(0, 2, "new", 0));
  EXPECT_NE(HistoryIdOf(5, 1, "restore", 3), HistoryIdOf(5, 1, "restore", 4));
  EXPECT_NE(HistoryIdOf(5, 1, "restore", 3), HistoryIdOf(6, 1, "restore", 3));
  EXPECT_NE(HistoryIdOf(5, 1, "restore", 3), HistoryIdOf(5, 1, "asked", 3));
}

TEST(HistoryIdTest, HistoriesThatNameEachOtherAreRefused) {
  const std::vector<HistoryRecord> records = {
      {.id = 1, .cluster_id = 9, .parent = Origin{.history = 2}},
      {.id = 2, .cluster_id = 9, .parent = Origin{.history = 1}}};
  ArchivedMember::Identity identity;
  identity.cluster_id = 9;
  EXPECT_EQ(ChooseHistory(records, identity, 1, 0).error().kind, ShipErrorKind::kRefused);
}

}  // namespace
}  // namespace kvorum::archive
