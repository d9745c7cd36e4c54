// The states that can be restored, by an archive's listing alone.
#include "archive/catalog/contents.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvorum::archive {
namespace {

constexpr HistoryId kOld = 0x1;
constexpr HistoryId kNew = 0x2;

LogName Log(std::uint64_t first, std::uint64_t last) {
  return {.first = raft::Index{first},
          .last = raft::Index{last},
          .revision = static_cast<std::int64_t>(last),
          .time_ms = static_cast<UnixMillis>(10 * last)};
}

BaseName BaseAt(std::uint64_t index) {
  return {.index = raft::Index{index},
          .revision = static_cast<std::int64_t>(index),
          .time_ms = static_cast<UnixMillis>(10 * index)};
}

// An archive is built of names; revisions are indices, times ten times those.
class ContentsTest : public testing::Test {
 protected:
  void Add(HistoryId history, const ObjectName& name) {
    contents_.Add(KeyText({.history = history, .name = name}));
  }
  void AddBase(HistoryId history, std::uint64_t index) {
    Add(history, PartName{.base = BaseAt(index), .number = 0});
    Add(history, PartName{.base = BaseAt(index), .number = 1});
    Add(history, ManifestName{BaseAt(index)});
  }
  void Left(HistoryId child, HistoryId parent, std::uint64_t index) {
    Add(child, HistoryFileName{});
    contents_.histories[child].record =
        HistoryRecord{.id = child,
                      .parent = Origin{.history = parent,
                                       .index = raft::Index{index},
                                       .revision = static_cast<std::int64_t>(index)}};
  }
  // "<base> <first>-<last> ..." of the plan, or the error's text.
  std::string PlanText(const Target& target, std::optional<HistoryId> history = std::nullopt) {
    contents_.Sort();
    const auto plan = MakePlan(contents_, history, target);
    if (!plan) return plan.error().message;
    std::string text =
        std::to_string(plan->history.value()) + ": " + std::to_string(plan->base.index.value());
    for (const LogName& log : plan->logs)
      text += " " + std::to_string(log.first.value()) + "-" + std::to_string(log.last.value());
    if (plan->end) text += " end " + std::to_string(plan->end->value());
    return text;
  }

  Contents contents_;
};

TEST_F(ContentsTest, TheNewestBaseBeforeTheTargetIsTaken) {
  AddBase(kOld, 5);
  AddBase(kOld, 20);
  for (const auto& log : {Log(1, 10), Log(11, 20), Log(21, 30), Log(31, 40)}) Add(kOld, log);
  EXPECT_EQ(PlanText(ToLatest{}), "1: 20 21-30 31-40");
  EXPECT_EQ(PlanText(ToIndex{40}), "1: 20 21-30 31-40");
  EXPECT_EQ(PlanText(ToIndex{30}), "1: 20 21-30");
  EXPECT_EQ(PlanText(ToIndex{20}), "1: 20");
  EXPECT_EQ(PlanText(ToIndex{19}), "1: 5 1-10 11-20");
  EXPECT_EQ(PlanText(ToRevision{25}), "1: 20 21-30");
  EXPECT_EQ(PlanText(ToRevision{5}), "1: 5");
}

TEST_F(ContentsTest, ATimeIsReachedByTheObjectThatGoesPastIt) {
  AddBase(kOld, 5);
  for (const auto& log : {Log(6, 10), Log(11, 20)}) Add(kOld, log);
  EXPECT_EQ(PlanText(ToTime{50}), "1: 5 6-10");
  EXPECT_EQ(PlanText(ToTime{99}), "1: 5 6-10");
  EXPECT_EQ(PlanText(ToTime{100}), "1: 5 6-10 11-20");
  EXPECT_EQ(PlanText(ToTime{200}), "1: 5 6-10 11-20");
  EXPECT_EQ(PlanText(ToTime{5'000}), "1: 5 6-10 11-20") << "the latest state was that then, too";
}

TEST_F(ContentsTest, WhatLiesBeforeTheFirstBaseOrBehindTheLastObjectIsNotThere) {
  AddBase(kOld, 5);
  Add(kOld, Log(6, 10));
  EXPECT_EQ(PlanText(ToIndex{4}),
            "the archive does not hold index 4; history 0000000000000001: what can be restored: "
            "revisions 5 to 10 (index 5 to 10)");
  EXPECT_TRUE(PlanText(ToRevision{11}).starts_with("the archive does not hold revision 11"));
  EXPECT_TRUE(PlanText(ToTime{49}).starts_with("the archive does not hold time 49 ms"));
}

TEST_F(ContentsTest, NothingIsRestoredOverAGap) {
  AddBase(kOld, 5);
  for (const auto& log : {Log(6, 10), Log(12, 20)}) Add(kOld, log);
  EXPECT_TRUE(PlanText(ToIndex{15}).starts_with("the archive does not hold index 15"));
  EXPECT_TRUE(PlanText(ToTime{105}).starts_with("the archive does not hold time"))
      << "what was there at that time is not known";
  AddBase(kOld, 13);
  EXPECT_EQ(PlanText(ToIndex{15}), "1: 13 12-20");
  EXPECT_EQ(PlanText(ToIndex{10}), "1: 5 6-10");
  EXPECT_TRUE(PlanText(ToIndex{11}).starts_with("the archive does not hold index 11"));
}

// The entries behind the gap are later, and must not be left out in silence.
TEST_F(ContentsTest, TheLatestStateIsNotThatBeforeAGap) {
  AddBase(kOld, 5);
  for (const auto& log : {Log(6, 10), Log(12, 20)}) Add(kOld, log);
  EXPECT_TRUE(PlanText(ToLatest{}).starts_with("the archive does not hold the latest state"));
  AddBase(kOld, 13);
  EXPECT_EQ(PlanText(ToLatest{}), "1: 13 12-20");
}

// A new leader goes on where it sees that the archive stands, and two may be at work for a while.
TEST_F(ContentsTest, OverlapsAreOneChain) {
  AddBase(kOld, 5);
  for (const auto& log :
       {Log(6, 10), Log(6, 12), Log(8, 11), Log(11, 30), Log(13, 20), Log(13, 31)})
    Add(kOld, log);
  EXPECT_EQ(PlanText(ToLatest{}), "1: 5 6-12 13-31");
}

TEST_F(ContentsTest, ABaseWithoutItsManifestDoesNotCount) {
  AddBase(kOld, 5);
  Add(kOld, PartName{.base = BaseAt(8), .number = 0});
  Add(kOld, Log(6, 10));
  EXPECT_EQ(PlanText(ToIndex{10}), "1: 5 6-10");
  ASSERT_EQ(contents_.histories[kOld].bases.size(), 2U);
  EXPECT_EQ(contents_.histories[kOld].bases[0].parts, 2U);
  EXPECT_EQ(contents_.histories[kOld].Restorables().size(), 1U);
}

TEST_F(ContentsTest, AHistorysPastIsItsParents) {
  AddBase(kOld, 5);
  for (const auto& log : {Log(6, 10), Log(11, 20), Log(21, 30)}) Add(kOld, log);
  AddBase(kNew, 40);
  Add(kNew, Log(41, 50));
  Left(kNew, kOld, 15);
  EXPECT_EQ(PlanText(ToLatest{}), "2: 40 41-50");
  EXPECT_EQ(PlanText(ToRevision{45}), "2: 40 41-50");
  EXPECT_EQ(PlanText(ToRevision{8}), "1: 5 6-10 end 15");
  EXPECT_EQ(PlanText(ToTime{300}), "1: 5 6-10 11-20 end 15")
      << "what the parent did later is not this history's";
  for (const std::uint64_t index : {18U, 25U})
    EXPECT_TRUE(
        PlanText(ToIndex{raft::Index{index}}).starts_with("the archive does not hold index"));
  EXPECT_TRUE(PlanText(ToRevision{18}).starts_with("the archive does not hold revision 18"));
  EXPECT_EQ(PlanText(ToIndex{25}, kOld), "1: 5 6-10 11-20 21-30");
}

TEST_F(ContentsTest, OfTwoHeadsOneIsNamed) {
  AddBase(kOld, 5);
  AddBase(kNew, 7);
  EXPECT_EQ(PlanText(ToLatest{}),
            "the archive has several histories; name one of 0000000000000001 0000000000000002");
  EXPECT_EQ(PlanText(ToLatest{}, kNew), "2: 7");
  EXPECT_TRUE(PlanText(ToLatest{}, HistoryId{9}).ends_with("no history 0000000000000009"));
}

TEST_F(ContentsTest, HistoriesThatNameEachOtherEndTheSearch) {
  AddBase(kOld, 5);
  AddBase(kNew, 7);
  Left(kOld, kNew, 10);
  Left(kNew, kOld, 10);
  EXPECT_EQ(PlanText(ToLatest{}), "the archive is empty");
  EXPECT_TRUE(PlanText(ToIndex{1}, kOld).starts_with("the archive does not hold index 1"));
}

TEST_F(ContentsTest, StrangersAreCounted) {
  contents_.Add("lost+found");
  for (int i = 0; i < 200; ++i) contents_.Add("x" + std::to_string(i));
  EXPECT_EQ(contents_.stranger_count, 201U);
  EXPECT_EQ(contents_.strangers.size(), Contents::kMaxStrangers);
  EXPECT_EQ(PlanText(ToLatest{}), "the archive is empty");
}

}  // namespace
}  // namespace kvorum::archive
