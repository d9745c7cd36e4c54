// Retention by an archive's listing: which bases stay, and what goes with those that do not.
#include "archive/catalog/retention.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvorum::archive {
namespace {

constexpr HistoryId kRoot = 0x1;
constexpr HistoryId kHead = 0x2;

// Revisions are indices, times a thousand times those.
class RetentionTest : public testing::Test {
 protected:
  static BaseName BaseAt(std::uint64_t index) {
    return {.index = raft::Index{index},
            .revision = static_cast<std::int64_t>(index),
            .time_ms = static_cast<UnixMillis>(1'000 * index)};
  }
  void Add(HistoryId history, const ObjectName& name) {
    contents_.Add(KeyText({.history = history, .name = name}));
  }
  void AddBase(HistoryId history, std::uint64_t index, bool is_whole = true) {
    Add(history, PartName{.base = BaseAt(index), .number = 0});
    Add(history, PartName{.base = BaseAt(index), .number = 2});
    if (is_whole) Add(history, ManifestName{BaseAt(index)});
  }
  void AddLog(HistoryId history, std::uint64_t first, std::uint64_t last) {
    Add(history, LogName{.first = raft::Index{first},
                         .last = raft::Index{last},
                         .revision = static_cast<std::int64_t>(last),
                         .time_ms = static_cast<UnixMillis>(1'000 * last)});
  }
  void Left(std::uint64_t index) {
    contents_.histories[kHead].record =
        HistoryRecord{.id = kHead, .parent = Origin{.history = kRoot, .index = raft::Index{index}}};
    contents_.histories[kRoot].record = HistoryRecord{.id = kRoot};
  }
  // "floor: bases; first-last of log objects and gaps".
  std::string Plan(const std::vector<HistoryId>& line, const RetentionOptions& options,
                   UnixMillis now_ms) {
    contents_.Sort();
    const Retention plan = PlanRetention(contents_, line, options, now_ms);
    if (!plan.floor) return "no floor";
    std::string text = std::to_string(plan.floor->name.index.value()) + ":";
    for (const Retention::OldBase& base : plan.bases)
      text += " " + std::to_string(base.name.index.value()) + "(" +
              std::to_string(base.parts.size()) + (base.has_manifest ? "" : " unfinished") + ")";
    text += ";";
    for (const std::string& key : plan.objects) {
      const auto parsed = ParseKey(key);
      if (const auto* log = std::get_if<LogName>(&parsed->name))
        text += " " + std::to_string(log->first.value()) + "-" + std::to_string(log->last.value());
      if (const auto* gap = std::get_if<GapName>(&parsed->name))
        text += " gap " + std::to_string(gap->from.value());
    }
    return text;
  }

  Contents contents_;
};

TEST_F(RetentionTest, BasesGoByAgeAndByNumber) {
  for (const std::uint64_t index : {10U, 20U, 30U, 40U}) AddBase(kRoot, index);
  for (std::uint64_t first = 11; first <= 41; first += 5) AddLog(kRoot, first, first + 4);
  Add(kRoot, GapName{.from = 5, .to = 6});
  EXPECT_EQ(Plan({kRoot}, {}, 50'000), "10:;");
  EXPECT_EQ(Plan({kRoot}, {.keep_for_ms = 25'000}, 50'000), "20: 10(3); 11-15 16-20 gap 5");
  EXPECT_EQ(Plan({kRoot}, {.keep_for_ms = 30'000}, 50'000), "20: 10(3); 11-15 16-20 gap 5");
  EXPECT_EQ(Plan({kRoot}, {.keep_for_ms = 30'001}, 50'000), "10:; gap 5");
  EXPECT_EQ(Plan({kRoot}, {.keep_bases = 2}, 50'000),
            "30: 10(3) 20(3); 11-15 16-20 21-25 26-30 gap 5");
  EXPECT_EQ(Plan({kRoot}, {.keep_for_ms = 25'000, .keep_bases = 3}, 50'000),
            "20: 10(3); 11-15 16-20 gap 5");
  EXPECT_EQ(Plan({kRoot}, {.keep_for_ms = 1, .keep_bases = 1}, 90'000),
            "40: 10(3) 20(3) 30(3); 11-15 16-20 21-25 26-30 31-35 36-40 gap 5");
}

TEST_F(RetentionTest, AnObjectThatReachesOverTheFloorStays) {
  AddBase(kRoot, 10);
  AddBase(kRoot, 20);
  AddLog(kRoot, 11, 19);
  AddLog(kRoot, 20, 21);
  EXPECT_EQ(Plan({kRoot}, {.keep_bases = 1}, 50'000), "20: 10(3); 11-19");
}

TEST_F(RetentionTest, TheNewestLogObjectStays) {
  AddBase(kRoot, 10);
  AddBase(kRoot, 20);
  AddLog(kRoot, 11, 15);
  AddLog(kRoot, 16, 20);
  EXPECT_EQ(Plan({kRoot}, {.keep_bases = 1}, 50'000), "20: 10(3); 11-15");
}

TEST_F(RetentionTest, WithoutABaseNothingGoes) {
  AddBase(kRoot, 10, false);
  AddLog(kRoot, 1, 9);
  EXPECT_EQ(Plan({kRoot}, {.keep_for_ms = 1, .keep_bases = 1}, 1'000'000'000), "no floor");
}

TEST_F(RetentionTest, AnUnfinishedBaseGoesOnceItIsOldAndBeforeTheNewest) {
  AddBase(kRoot, 10);
  AddBase(kRoot, 20, false);
  AddBase(kRoot, 30);
  AddBase(kRoot, 40, false);
  EXPECT_EQ(Plan({kRoot}, {}, 20'000 + kUnfinishedBaseMs - 1), "10:;");
  EXPECT_EQ(Plan({kRoot}, {}, 40'000 + kUnfinishedBaseMs), "10: 20(3 unfinished);");
}

TEST_F(RetentionTest, AParentsBasesCountUpToTheFork) {
  AddBase(kRoot, 10);
  AddBase(kRoot, 20);
  AddBase(kRoot, 30);
  AddLog(kRoot, 11, 20);
  AddLog(kRoot, 21, 35);
  AddBase(kHead, 28);
  AddBase(kHead, 40);
  AddLog(kHead, 29, 45);
  Left(25);
  EXPECT_EQ(Plan({kHead, kRoot}, {.keep_bases = 3}, 50'000), "20: 10(3); 11-20");
  EXPECT_EQ(Plan({kHead, kRoot}, {.keep_bases = 2}, 50'000), "28: 10(3) 20(3) 30(3); 11-20 21-35");
  EXPECT_EQ(Plan({kHead}, {.keep_bases = 1}, 50'000), "40: 28(3);");
}

TEST_F(RetentionTest, AParentWithItsOwnLifeIsNotOfTheLine) {
  AddBase(kRoot, 10);
  AddBase(kHead, 28);
  Left(25);
  const std::vector<HistoryId> both = {kHead, kRoot};
  const std::vector<HistoryId> alone = {kHead};
  EXPECT_EQ(PrunableLine(contents_, kHead, {}, 100'000, 1'000), both);
  EXPECT_EQ(PrunableLine(contents_, kHead, {{kRoot, 99'000}}, 100'000, 1'000), both);
  EXPECT_EQ(PrunableLine(contents_, kHead, {{kRoot, 99'001}}, 100'000, 1'000), alone);
  contents_.histories[0x3].record =
      HistoryRecord{.id = 0x3, .parent = Origin{.history = kRoot, .index = 5}};
  EXPECT_EQ(PrunableLine(contents_, kHead, {}, 100'000, 1'000), alone);
}

TEST_F(RetentionTest, HistoriesThatNameEachOtherEndTheLine) {
  Left(25);
  contents_.histories[kRoot].record->parent = Origin{.history = kHead, .index = 3};
  EXPECT_EQ(PrunableLine(contents_, kHead, {}, 0, 0), (std::vector<HistoryId>{kHead, kRoot}));
}

}  // namespace
}  // namespace kvorum::archive
