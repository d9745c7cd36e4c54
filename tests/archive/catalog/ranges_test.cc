// The ranges of states that can be restored, beside a model that asks for a plan of each state.
#include "archive/catalog/ranges.h"

#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"

namespace kvorum::archive {
namespace {

constexpr HistoryId kRanged = 0x1;

LogName RangeLog(std::uint64_t first, std::uint64_t last) {
  return {.first = raft::Index{first},
          .last = raft::Index{last},
          .revision = static_cast<std::int64_t>(last),
          .time_ms = static_cast<UnixMillis>(10 * last)};
}

BaseName RangeBase(std::uint64_t index) {
  return {.index = raft::Index{index},
          .revision = static_cast<std::int64_t>(index),
          .time_ms = static_cast<UnixMillis>(10 * index)};
}

std::string RangesText(const History& history) {
  std::string text;
  for (const StateRange& range : RestorableRanges(history)) {
    text += std::to_string(range.first.index.value()) + "-" +
            std::to_string(range.last.index.value()) + " ";
    EXPECT_EQ(range.last.revision, static_cast<std::int64_t>(range.last.index.value()));
    EXPECT_EQ(range.last.time_ms, 10 * range.last.revision);
  }
  return text;
}

TEST(RangesTest, ABaseLeadsAsFarAsThereIsNoGap) {
  History history;
  history.bases = {{.name = RangeBase(5), .has_manifest = true, .parts = 1},
                   {.name = RangeBase(30), .has_manifest = true, .parts = 1}};
  history.logs = {RangeLog(1, 10), RangeLog(11, 20), RangeLog(22, 40)};
  EXPECT_EQ(RangesText(history), "5-20 30-40 ");
  history.logs.insert(history.logs.begin() + 2, RangeLog(21, 21));
  EXPECT_EQ(RangesText(history), "5-40 ");
  history.bases[0].has_manifest = false;
  EXPECT_EQ(RangesText(history), "30-40 ");
  history.logs.clear();
  EXPECT_EQ(RangesText(history), "30-30 ");
}

TEST(RangesTest, TheyAreTheStatesThatPlansReach) {
  Rng rng(1);
  for (int round = 0; round < 500; ++round) {
    Contents contents;
    History& history = contents.histories[kRanged];
    for (std::uint64_t i = 0; i < 3; ++i)
      history.bases.push_back({.name = RangeBase(1 + 10 * i + rng.Below(9)),
                               .has_manifest = rng.Below(4) != 0,
                               .parts = 1});
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t first = 1 + rng.Below(40);
      history.logs.push_back(RangeLog(first, first + rng.Below(6)));
    }
    contents.Sort();
    const auto ranges = RestorableRanges(history);
    for (std::uint64_t index = 1; index < 50; ++index) {
      bool is_within = false;
      for (const StateRange& range : ranges)
        is_within |=
            range.first.index <= raft::Index{index} && raft::Index{index} <= range.last.index;
      EXPECT_EQ(is_within, MakePlan(contents, kRanged, ToIndex{raft::Index{index}}).has_value())
          << "round " << round << ", index " << index;
    }
  }
}

}  // namespace
}  // namespace kvorum::archive
